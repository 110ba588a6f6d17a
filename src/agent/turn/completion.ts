import type { ModelError } from '../../providers/provider.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { failureSentence } from './failure-sentence.ts';
import { isCutOff, sentTexts, textOf, textsOf } from './answer-text.ts';

/** What comes after an answer without tool calls. */
export type Completion =
  /** The same request once more. */
  | { readonly type: 'ask-model' }
  /** Something is said to the model, then it is asked. */
  | { readonly type: 'say'; readonly text: string }
  | Ending;

export interface Ending {
  readonly type: 'finish';
  readonly outcome: 'answered' | 'failed';
  /** What the person is shown. */
  readonly answer: string;
}

const CONTINUATIONS = 3;
const CONTINUE =
  '<context>\nYour answer was cut off at the output limit. Go on exactly where it stopped, in the middle of the word if need be: repeat nothing, do not comment on this.\n</context>';
const ANSWER_NOW =
  '<context>\nYou have not said anything yet. Give your final answer now, in plain words and without a tool.\n</context>';
const LAST_CALL =
  '<context>\nThe limit of steps for this task is reached: no more tools. Give your best answer with what you know, and say what is left undone.\n</context>';

const EMPTY = 'The model gave an empty answer, also when asked again. Send /retry, or put it in other words.';
const STILL_CUT = '_The answer reached the length limit here. Say “go on” for the rest._';

/** A message of the program's own to the model. */
export function ownNote(turnId: string, text: string): EntryDraft {
  return { kind: 'message', role: 'user', turn: turnId, sources: [], content: [{ type: 'text', text }] };
}

/** The newest message is one that only says how to answer; nothing may come between it and the answer. */
export function asksForRest(entries: readonly TapeEntry[]): boolean {
  return [CONTINUE, ANSWER_NOW].includes(noteAtEnd(entries));
}

/** Tells the model that this is its last call; null when the tape says so already. */
export function lastCallNote(turnId: string, entries: readonly TapeEntry[]): EntryDraft | null {
  return noteAtEnd(entries) === LAST_CALL ? null : ownNote(turnId, LAST_CALL);
}

/**
 * Decides after the newest assistant message, which has no calls, from the turn's entries alone. A text that was cut
 * off is continued, up to three times. An answer without any text is asked for once more, then asked for in words,
 * then given up; after an earlier text of the turn it is an end like any other.
 */
export function completionOf(entries: readonly TapeEntry[], maxIterations: number): Completion {
  const answers = entries.filter((entry) => entry.kind === 'message' && entry.role === 'assistant');
  const last = answers.at(-1);
  if (last?.kind !== 'message' || last.role !== 'assistant') return { type: 'ask-model' };
  const { answer } = textsOf(entries);
  const capped = answers.length >= maxIterations;
  if (isCutOff(last)) {
    if (!capped && countSince(entries, CONTINUE) < CONTINUATIONS) return { type: 'say', text: CONTINUE };
    return finish('answered', `${answer}\n\n${STILL_CUT}`);
  }
  if (textOf(last).trim() !== '') return finish('answered', answer);
  if (capped) return atCap(answer, maxIterations);
  if (answer !== '' || sentTexts(entries).length > 0) return finish('answered', answer);
  if (last.stopReason === 'refusal') return finish('failed', refused(`${last.provider}/${last.model}`));
  if (countSince(entries, ANSWER_NOW) > 0) return finish('failed', EMPTY);
  return emptiesAtEnd(entries) < 2 ? { type: 'ask-model' } : { type: 'say', text: ANSWER_NOW };
}

/** How a turn ends whose model call failed. What was said before is not lost; the error itself is no part of it. */
export function afterFailure(
  entries: readonly TapeEntry[],
  error: ModelError,
  { model, last, maxIterations }: { model: string; last: boolean; maxIterations: number },
): Ending {
  const sentence = failureSentence(error, model);
  const { answer } = textsOf(entries);
  if (asksForRest(entries) && answer !== '')
    return finish('answered', `${answer}\n\n_I was cut off here: ${sentence}_`);
  return last ? atCap(answer, maxIterations, sentence) : finish('failed', sentence);
}

function atCap(answer: string, maxIterations: number, why = ''): Ending {
  const steps = maxIterations === 1 ? 'the one step' : `all ${maxIterations} steps`;
  const sentence = `I used ${steps} that one request may take (\`agent.maxIterations\`) and could not sum up where I am. Say “go on” to let me continue.`;
  const whole = why === '' ? sentence : `${sentence} ${why}`;
  return answer === '' ? finish('failed', whole) : finish('answered', `${answer}\n\n_${whole}_`);
}

function refused(model: string): string {
  return failureSentence({ type: 'error', kind: 'refusal', retryable: false, message: '' }, model);
}

function finish(outcome: Ending['outcome'], answer: string): Ending {
  return { type: 'finish', outcome, answer };
}

function noteAtEnd(entries: readonly TapeEntry[]): string {
  const last = entries.findLast((entry) => entry.kind === 'message');
  return last === undefined ? '' : noteOf(last);
}

/** The text of a note of the program's own; empty for everything else. */
function noteOf(entry: TapeEntry): string {
  if (entry.kind !== 'message' || entry.role !== 'user' || entry.sources.length > 0) return '';
  const [part] = entry.content;
  return part?.type === 'text' ? part.text : '';
}

/** How often the note was written since a tool or a person said something. */
function countSince(entries: readonly TapeEntry[], note: string): number {
  return sinceInput(entries).filter((entry) => noteOf(entry) === note).length;
}

function emptiesAtEnd(entries: readonly TapeEntry[]): number {
  return sinceInput(entries).filter((entry) => entry.kind === 'message' && entry.role === 'assistant').length;
}

function sinceInput(entries: readonly TapeEntry[]): readonly TapeEntry[] {
  const at = entries.findLastIndex(
    (entry) =>
      entry.kind === 'message' && (entry.role === 'tool' || (entry.role === 'user' && entry.sources.length > 0)),
  );
  return entries.slice(at + 1);
}
