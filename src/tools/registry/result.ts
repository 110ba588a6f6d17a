import { errorMessage } from '../../util/errors.ts';
import { cut, cutStart, oneLine } from '../../util/text.ts';
import type { ToolMetadata, ToolResult } from '../tool.ts';

const HEAD = 1_200;
const TAIL = 600;
/** Room for the sentence between head and tail. */
const NOTICE = 160;
const LONGEST_FAILURE = 1_000;

/** A result that says why nothing was done or what went wrong. */
export function errorResult(title: string, output: string, metadata: ToolMetadata = {}): ToolResult {
  return { title, output, metadata, isError: true };
}

/** A result that says why rules or a person did not let a call run. */
export function refusedResult(title: string, output: string): ToolResult {
  return { ...errorResult(title, output), refused: true };
}

/** What was thrown, on one line. */
export function failureLine(thrown: unknown): string {
  return cut(errorMessage(thrown).replace(/\s*[\r\n]+\s*/gu, ' '), LONGEST_FAILURE);
}

/** What the model reads: one header line made of the title and the facts, then the output. */
export function renderResult({ title, output, metadata, note = '', isError }: ToolResult): string {
  const facts = Object.entries(metadata)
    .filter(([, value]) => value !== null && value !== false)
    .map(([key, value]) => `${key}=${oneLine(String(value), 200)}`);
  const header = `[${[oneLine(title, 120), ...(isError === true ? ['error'] : []), ...facts].join(' · ')}]`;
  return [header, output, note].filter((part) => part !== '').join('\n');
}

/**
 * At most `limit` characters: beyond it the head and the tail with a sentence between them. `kept` is a path where the
 * whole can be read.
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

/** What a call is about, in one line, before it runs: `read_file notes.md`. Broken arguments are left out. */
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
