import { escapeControlChars } from '../../security/text/control-characters.ts';
import { oneLine, sentences } from '../../util/text.ts';
import type { CommandLimits, CommandOutcome, Exceeded } from './run.ts';
import type { Reach } from './taint.ts';
import type { ToolResult } from '../tool.ts';

/** Characters of a command's last line. */
const LONGEST_LAST = 160;

/** What might have ended a command. */
export interface Bounds extends CommandLimits {
  readonly seconds: number;
}

/** What the model reads of a command that has ended; `notes`: what else is to be said. `reach`: how far it reached. */
export function commandResultOf(
  command: string,
  outcome: CommandOutcome,
  { reach, ...bounds }: Bounds & { readonly reach: Reach },
  notes: readonly string[] = [],
): ToolResult {
  const { exitCode, durationMs, truncated, bytes, output, lastLine } = outcome;
  const own = notesOf(outcome, bounds);
  return {
    title: oneLine(`ran ${escapeControlChars(command)}`, 80),
    output: withNotes(output, [...own, ...notes]),
    metadata: { exitCode, durationMs, truncated, bytes },
    ...(isFailure(outcome) ? { isError: true, failure: failureOf(lastLine, own, reach) } : {}),
  };
}

/** Why a command did not end well, for people: its last words, and what enclosed it. */
function failureOf(last: string, notes: readonly string[], reach: Reach): string {
  const inside = reach === 'network' ? '' : ' and there is no internet';
  return sentences(
    last === '' ? '' : `It said last: “${oneLine(last, LONGEST_LAST)}”.`,
    ...notes,
    reach === 'anywhere' ? '' : `It ran in the sandbox, where only the workspace can be written${inside}.`,
  );
}

/** Whether a command did not end well. */
export function isFailure({ exitCode, timedOut, exceeded }: CommandOutcome): boolean {
  return exitCode !== 0 || timedOut || exceeded !== null;
}

/** What is to be said of a command's end beside its exit code; sentences. */
export function notesOf(outcome: CommandOutcome, bounds: Bounds): readonly string[] {
  const { timedOut, exceeded, signal } = outcome;
  return [
    ...(timedOut
      ? [`The command was ended after ${bounds.seconds} s, its time limit, with all processes that it had started.`]
      : []),
    ...(exceeded === null ? [] : [whyEnded(exceeded, bounds)]),
    ...(!timedOut && exceeded === null && signal !== null ? [`The command was ended by the signal ${signal}.`] : []),
    ...(outcome.clean ? [] : ['A process that it started could not be stopped and may still run.']),
  ];
}

/** An output with sentences of the program's own below it, each in brackets. */
export function withNotes(output: string, notes: readonly string[]): string {
  const separator = output === '' || output.endsWith('\n') || notes.length === 0 ? '' : '\n';
  return output + separator + notes.map((note) => `[${note}]`).join('\n');
}

function whyEnded(exceeded: Exceeded, { processes, outputBytes }: CommandLimits): string {
  switch (exceeded) {
    case 'processes':
      return `The command was ended, with all processes that it had started, because more than ${processes} processes ran.`;
    case 'outputBytes':
      return `The command was ended because it wrote more than ${Math.round(outputBytes / 1024 ** 2)} MiB of output.`;
    case 'memory':
      return 'The command was ended because it used too much memory.';
    case 'freeBytes':
      return 'The command was ended because the disk was almost full. What it wrote is still there.';
  }
}
