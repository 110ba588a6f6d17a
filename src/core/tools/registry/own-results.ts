import { AppError, OwnWordsError } from '../../util/errors.ts';
import type { Tool, ToolResult } from '../tool.ts';
import { errorResult, failureLine } from './result.ts';

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
