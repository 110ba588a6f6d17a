import { errorMessage } from '../../util/errors.ts';
import { cut, cutStart, oneLine } from '../../util/text.ts';
import type { ToolMetadata, ToolResult } from '../tool.ts';

const HEAD = 1_200;
const TAIL = 600;
/** Characters reserved for the sentence between head and tail. */
const NOTICE = 160;
const LONGEST_FAILURE = 1_000;

/** A result with the error mark; `output` says what went wrong. */
export function errorResult(title: string, output: string, metadata: ToolMetadata = {}): ToolResult {
  return { title, output, metadata, isError: true };
}

/** A result for a call that the policy or a person refused; `output` says why. */
export function refusedResult(title: string, output: string): ToolResult {
  return { ...errorResult(title, output), refused: true };
}

/** A result for a call that could not be prepared; of arguments that do not fit (`isMisfit`), people read one sentence. */
export function uncallable(
  name: string,
  { problem, isMisfit }: { readonly problem: string; readonly isMisfit?: boolean },
): ToolResult {
  const failure = `The arguments for ${name} were wrong, so nothing was done. The model is told what to correct.`;
  return { ...errorResult(name, problem), ...(isMisfit === true ? { failure } : {}) };
}

/** The message of a thrown value, on one line, at most 1,000 characters. */
export function failureLine(thrown: unknown): string {
  return cut(errorMessage(thrown).replace(/\s*[\r\n]+\s*/gu, ' '), LONGEST_FAILURE);
}

/** The text of a result for the model: a header line with title and metadata, then the output. */
export function renderResult({ title, output, metadata, note = '', isError }: ToolResult): string {
  const facts = Object.entries(metadata)
    .filter(([, value]) => value !== null && value !== false)
    .map(([key, value]) => `${key}=${oneLine(String(value), 200)}`);
  const header = `[${[oneLine(title, 120), ...(isError === true ? ['error'] : []), ...facts].join(' · ')}]`;
  return [header, output, note].filter((part) => part !== '').join('\n');
}

/**
 * Cuts an output that is longer than `limit` characters to its beginning and end, with a sentence between them. `kept`: path
 * of a file with the whole output.
 */
export function capOutput(output: string, limit: number, kept?: string): string {
  if (output.length <= limit) return output;
  const how =
    kept === undefined
      ? 'ask for a smaller part to see them'
      : `the whole text is kept in a file that read_file shows in pages: ${kept}`;
  const space = limit - NOTICE - (kept?.length ?? 0);
  const tail = Math.min(TAIL, Math.floor(space / 3));
  const head = Math.min(HEAD, space - tail);
  const left = output.length - head - tail;
  return `${cut(output, head)}\n\n[… ${left} of ${output.length} characters are left out here; ${how} …]\n\n${cutStart(output, tail)}`;
}

/** A title of a call before it runs, on one line: `read_file notes.md`; only the name when the arguments are no JSON. */
export function callTitle(call: { readonly name: string; readonly arguments: string }): string {
  let given: unknown;
  try {
    given = JSON.parse(call.arguments);
  } catch {
    return call.name;
  }
  const values: readonly unknown[] = typeof given === 'object' && given !== null ? Object.values(given) : [];
  const first = values.find((value) => typeof value === 'string') ?? values.map(toolsIn).find((names) => names !== '');
  return oneLine(`${call.name} ${typeof first === 'string' ? first : ''}`, 80);
}

/** The names of the tools in a list of calls. */
function toolsIn(value: unknown): string {
  if (!Array.isArray(value)) return '';
  const names = value.map((item: unknown) =>
    typeof item === 'object' && item !== null && 'tool' in item && typeof item.tool === 'string' ? item.tool : '',
  );
  return names.filter((name) => name !== '').join(', ');
}
