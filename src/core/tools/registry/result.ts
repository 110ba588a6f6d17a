import { createHash } from 'node:crypto';
import { AppError, errorMessage, OwnWordsError } from '../../util/errors.ts';
import { cut, cutStart, oneLine } from '../../util/text.ts';
import type { Effect, Plan, Tool, ToolMetadata, ToolResult } from '../tool.ts';

/** The tool result when the action changed after it was approved. */
export const CHANGED =
  'Not done: the action, or a file that it names, changed after it was approved. Call the tool again to have it approved as it is now.';

/** Characters of a result that are left for what stands around a page of text. */
export const PAGE_MARGIN = 400;

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

/** The result of a call that started and was cut off. */
export function doubted(tool: Tool, words: string): ToolResult {
  if (tool.effect === 'none') return ownError(tool, words);
  return { ...ownError(tool, `${words} It may have taken effect.`), doubtful: true };
}

/** An error text of the program. For a tool whose results are fenced as untrusted, it is put outside of the fence (`note`). */
export function ownError(tool: Tool, words: string): ToolResult {
  return tool.untrusted === true
    ? { title: tool.name, output: '', note: words, metadata: {}, isError: true }
    : errorResult(tool.name, words);
}

/** The result of a call that the policy or a person refused. */
export function refusal(tool: Tool, words: string): ToolResult {
  return { ...ownError(tool, words), refused: true };
}

/** The result for an error that a tool threw. Its text may be untrusted, except `own` of an `OwnWordsError`. */
export function thrownResult(tool: Tool, error: unknown): ToolResult {
  if (!(error instanceof OwnWordsError)) {
    const missing = error instanceof AppError && (error.facts['code'] === 'ENOENT' || error.code === 'cron-unknown');
    return { ...errorResult(tool.name, failureLine(error)), ...(missing ? { missing } : {}) };
  }
  const { said, own, doubtful } = error;
  return { ...errorResult(tool.name, failureLine(said)), note: own, doubtful };
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

/** Characters of a target on the tape, such as a script in a command line. */
const LONGEST_TARGET = 400;

/** What became of a call: the part of an `Effect` that its result tells. */
export type Became = Pick<Effect, 'outcome' | 'exitCode' | 'missing'>;

/** Exit codes of shells for a program that there is not, or that is none. */
const NO_PROGRAM: ReadonlySet<unknown> = new Set([126, 127]);

export function becameOf({ isError, refused, doubtful, missing, metadata: { exitCode } }: ToolResult): Became {
  const code = typeof exitCode === 'number' ? { exitCode } : {};
  if (refused === true) return { outcome: 'refused' };
  if (isError !== true) return { outcome: 'done', ...code };
  if (doubtful === true) return { outcome: 'unknown' };
  return { outcome: 'failed', ...code, ...(missing === true || NO_PROGRAM.has(exitCode) ? { missing: true } : {}) };
}

/** What a call that ended so changed or meant to change; nothing for a tool that changes nothing. */
export function effectsAbout(tool: Tool | undefined, about: Plan['about'], became: Became): readonly Effect[] {
  if (tool === undefined || tool.effect === 'none' || tool.onlyReads === true) return [];
  const { exitCode: _, ...other } = became;
  if (about === undefined) return [{ tool: tool.name, ...other, kind: 'call', target: null }];
  return about.map((target) => ({
    tool: tool.name,
    ...(target.kind === 'command' ? became : other),
    ...target,
    target: shortened(target.target),
  }));
}

/** A long target by its beginning and its hash, so that two are equal only where the whole is. */
function shortened(target: string): string {
  if (target.length <= LONGEST_TARGET) return target;
  return `${cut(target, LONGEST_TARGET)}… (${createHash('sha256').update(target).digest('hex').slice(0, 8)})`;
}
