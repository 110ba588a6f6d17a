import type { Role } from '../../bus/messages.ts';
import type { ModelError } from '../../providers/provider.ts';
import { asRole } from '../../security/access/access.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { failureSentence, type FailureContext } from './failure-sentence.ts';
import { isCutOff, saysNothing, sentTexts, textOf, textsOf } from './answer-text.ts';

/** The next step after a model's message without tool calls. */
export type Completion =
  /** Send the same request again. */
  | { readonly type: 'ask-model' }
  /** Append `text` as a note to the model, then ask it. */
  | { readonly type: 'say'; readonly text: string }
  | TurnFinish;

export interface TurnFinish {
  readonly type: 'finish';
  readonly outcome: 'answered' | 'failed';
  /** The text that the person gets. */
  readonly answer: string;
  /** As in `TurnSummary`. @default null */
  readonly errorKind?: string;
}

export interface CompletionFacts {
  readonly maxIterations: number;
  /** As in `Origin`. */
  readonly hasReader?: boolean;
}

const CONTINUATIONS = 3;
const CONTINUE =
  '<context>\nYour answer was cut off at the output limit. Go on exactly where it stopped, in the middle of the word if need be: repeat nothing, do not comment on this.\n</context>';
const ANSWER_NOW =
  '<context>\nYou have not said anything yet. Give your final answer now, in plain words and without a tool.\n</context>';
const LAST_CALL =
  '<context>\nThe limit of steps for this task is reached: no more tools. Give your best answer with what you know, and say what is left undone.\n</context>';

const EMPTY = 'The model gave an empty answer, also when asked again.';
const STILL_CUT = '_The answer reached the length limit here. Say “go on” for the rest._';

/** The tape entry of a note from the program to the model. */
export function ownNote(turnId: string, text: string): EntryDraft {
  return { kind: 'message', role: 'user', turn: turnId, sources: [], content: [{ type: 'text', text }] };
}

/** Whether the newest message is a note that asks for the rest of an answer; no message of a person may join before the answer. */
export function asksForRest(entries: readonly TapeEntry[]): boolean {
  return [CONTINUE, ANSWER_NOW].includes(noteAtEnd(entries));
}

/** The note that tells the model that this is its last call; null when the newest message is this note. */
export function lastCallNote(turnId: string, entries: readonly TapeEntry[]): EntryDraft | null {
  return noteAtEnd(entries) === LAST_CALL ? null : ownNote(turnId, LAST_CALL);
}

/**
 * Decides the next step after the newest assistant message, which has no calls, from the turn's entries alone. A text that
 * was cut off is continued, up to 3 times. After an empty message the model is asked again, then asked with a note, then the
 * turn fails; but if the turn has an earlier text, that is the answer.
 */
export function completionOf(entries: readonly TapeEntry[], { maxIterations, hasReader }: CompletionFacts): Completion {
  const answers = entries.filter((entry) => entry.kind === 'message' && entry.role === 'assistant');
  const last = answers.at(-1);
  if (last?.kind !== 'message' || last.role !== 'assistant') return { type: 'ask-model' };
  const { answer } = textsOf(entries);
  const capped = answers.length >= maxIterations;
  if (isCutOff(last)) {
    if (!capped && countSince(entries, CONTINUE) < CONTINUATIONS) return { type: 'say', text: CONTINUE };
    return finish('answered', `${answer}\n\n${STILL_CUT}`);
  }
  const asker = askerOf(entries, hasReader);
  const said = textOf(last).trim();
  if (said !== '') return finish('answered', asker === null && saysNothing(said) ? '' : answer);
  const isAllEmpty = maxIterations > 1 && emptiesAtEnd(entries) >= maxIterations;
  if (capped && !isAllEmpty) return atCap(answer, maxIterations);
  if (answer !== '' || sentTexts(entries).length > 0) return finish('answered', answer);
  if (last.stopReason === 'refusal') return failed(refused(`${last.provider}/${last.model}`, asker), 'refusal');
  if (isAllEmpty || countSince(entries, ANSWER_NOW) > 0)
    return failed(asker === null ? EMPTY : `${EMPTY} Send /retry, or put it in other words.`, 'malformed');
  return emptiesAtEnd(entries) < 2 ? { type: 'ask-model' } : { type: 'say', text: ANSWER_NOW };
}

/** How a turn ends after its model call failed. An earlier text of the turn is the answer, with the reason at its end. */
export function afterFailure(
  entries: readonly TapeEntry[],
  error: ModelError,
  {
    last,
    maxIterations,
    hasReader,
    ...context
  }: Omit<FailureContext, 'asker'> & CompletionFacts & { readonly last: boolean },
): TurnFinish {
  const sentence = failureSentence(error, { ...context, asker: askerOf(entries, hasReader) });
  const { answer } = textsOf(entries);
  if (asksForRest(entries) && answer !== '')
    return finish('answered', `${answer}\n\n_I was cut off here: ${sentence}_`);
  if (!last) return failed(sentence, error.kind);
  const end = atCap(answer, maxIterations, sentence);
  return end.outcome === 'failed' ? { ...end, errorKind: error.kind } : end;
}

function atCap(answer: string, maxIterations: number, why = ''): TurnFinish {
  const steps = maxIterations === 1 ? 'the one step' : `all ${maxIterations} steps`;
  const sentence = `I used ${steps} that one request may take (\`agent.maxIterations\`) and could not sum up where I am. Say “go on” to let me continue.`;
  const whole = why === '' ? sentence : `${sentence} ${why}`;
  return answer === '' ? failed(whole, 'limit') : finish('answered', `${answer}\n\n_${whole}_`);
}

function refused(model: string, asker: Role | null): string {
  const error = { type: 'error', kind: 'refusal', retryable: false, message: '' } as const;
  return failureSentence(error, { model, now: 0, timezone: null, asker });
}

/** The role of the person who asked; null: a job, the heartbeat or a webhook did. */
function askerOf(entries: readonly TapeEntry[], hasReader: boolean | undefined): Role | null {
  const start = entries.find((entry) => entry.kind === 'turn-start');
  if (start?.kind !== 'turn-start') return 'guest';
  return hasReader === true ? asRole(start.role) : null;
}

function finish(outcome: 'answered', answer: string): TurnFinish {
  return { type: 'finish', outcome, answer };
}

function failed(answer: string, errorKind: string): TurnFinish {
  return { type: 'finish', outcome: 'failed', answer, errorKind };
}

function noteAtEnd(entries: readonly TapeEntry[]): string {
  const last = entries.findLast((entry) => entry.kind === 'message');
  return last === undefined ? '' : noteOf(last);
}

/** The text of a note from the program; '' for every other entry. */
function noteOf(entry: TapeEntry): string {
  if (entry.kind !== 'message' || entry.role !== 'user' || entry.sources.length > 0) return '';
  const [part] = entry.content;
  return part?.type === 'text' ? part.text : '';
}

/** How many times the note was written since the newest tool result or message of a person. */
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
