import { apiFactsOf } from '../../bus/api.ts';
import type { InboundMessage, TurnOutcome } from '../../bus/messages.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { addUsage, noUsage, type Usage } from '../../util/token-usage.ts';
import { unfinishedLine } from '../receipt/line.ts';
import { answeringModel, signed } from './answering-model.ts';
import { choseSilence } from './answer-text.ts';
import { iterationsOf, pendingCalls } from './steps.ts';
import { toolEntry } from './tool-calls.ts';
import type { Turn } from './current-turn.ts';

/** Abort reason of a turn's signal that ends the turn. Any other reason leaves the turn open for the next start. */
export class EndTurn extends Error {
  readonly outcome: 'stopped' | 'failed';
  /** The sentence for the person; '' when the reply to the /stop told it already. */
  readonly sentence: string;
  /** As in `TurnSummary`. */
  readonly errorKind: string;

  constructor(outcome: 'stopped' | 'failed', sentence: string, errorKind: string) {
    super(sentence === '' ? outcome : sentence);
    this.name = 'EndTurn';
    this.outcome = outcome;
    this.sentence = sentence;
    this.errorKind = errorKind;
  }
}

/** Makes the last changes to a `turn-end` that no new message of the model comes with: what the hooks of plugins make of it. */
export type Finish = (end: EntryDraft) => Promise<EntryDraft>;

/**
 * Ends a turn that was stopped or timed out: appends a result for each call without one, then the `turn-end`. `partial`: the
 * part of the model's answer that people saw.
 */
export async function endCut(
  turn: Turn,
  reason: EndTurn,
  { finish, partial = '' }: { readonly finish: Finish; readonly partial?: string },
): Promise<void> {
  const { session, facts } = turn;
  const output = reason.outcome === 'stopped' ? 'stopped by the user' : `stopped: ${reason.sentence}`;
  const results = pendingCalls(session.turn(facts.turnId)).map((pending) =>
    toolEntry(facts.turnId, pending, { title: pending.call.name, output, metadata: {}, isError: true }, false),
  );
  const { outcome, sentence: answer, errorKind } = reason;
  const end = { ...(await finish(endDraft(turn, { outcome, answer, errorKind }))), ...partialOf(partial) };
  await session.append([...results, end], 'with-journal');
}

/** The field `partial` of a `turn-end`; left out when people saw nothing. */
export function partialOf(shown: string): { readonly partial?: string } {
  return shown.trim() === '' ? {} : { partial: shown };
}

interface TurnEnding {
  readonly outcome: TurnOutcome;
  readonly answer: string;
  /** As in `TurnSummary`. @default null */
  readonly errorKind?: string | null;
}

/** Makes the `turn-end` of a turn. `entries`: the turn's entries, with those that are written in the same append. */
export function endDraft(
  turn: Turn,
  { outcome, answer, errorKind = null }: TurnEnding,
  entries: readonly TapeEntry[] = turn.session.turn(turn.facts.turnId),
): EntryDraft {
  const { facts, chosen, origin } = turn;
  const unfinished = outcome === 'answered' ? lineBelow(turn, answer, entries) : '';
  // A program that asked for JSON would read no other word.
  const isJson = apiFactsOf(facts.messages.at(-1))?.json === true;
  const whole = [answer, isJson ? '' : unfinished].filter((text) => text !== '').join('\n\n');
  return turnEndEntry({
    turnId: facts.turnId,
    outcome,
    errorKind,
    answer:
      outcome === 'answered'
        ? signed(whole, entries, chosen)
        : outcome === 'failed'
          ? (origin.failed?.(answer, facts.messages.at(-1)?.metadata ?? {}) ?? answer)
          : answer,
    unfinished,
    target: facts.messages.at(-1),
    usage: usageOf(entries),
    costUsd: turn.costUsd(),
    model: answeringModel(entries, chosen),
    iterations: iterationsOf(entries),
  });
}

/**
 * The line that names what a turn did not get done, for the end of its answer; '' for none. It is added in one place and
 * written with the `turn-end`, in one append, so it is there once however often the turn is resumed or its answer sent.
 */
function lineBelow({ role, facts }: Turn, answer: string, entries: readonly TapeEntry[]): string {
  if (answer === '' && choseSilence(entries)) return '';
  // Guests, and the others in a group, see no paths, commands and chats.
  const named = role !== 'guest' && facts.messages.at(-1)?.chatType === 'direct';
  return unfinishedLine(entries, { named });
}

export function turnEndEntry(end: {
  turnId: string;
  outcome: TurnOutcome;
  /** @default null */
  errorKind?: string | null;
  answer: string;
  /** The line in it that names what was not done. @default none */
  unfinished?: string;
  target: InboundMessage | undefined;
  usage: Usage;
  /** @default unknown */
  costUsd?: number | null;
  model: string | null;
  iterations: number;
}): EntryDraft {
  const { target, unfinished = '', errorKind = null } = end;
  return {
    kind: 'turn-end',
    turn: end.turnId,
    outcome: end.outcome,
    ...(errorKind === null ? {} : { errorKind }),
    answer: end.answer,
    ...(unfinished === '' ? {} : { unfinished }),
    target: {
      channel: target?.channel ?? '',
      chatId: target?.chatId ?? '',
      ...(target?.threadId === undefined ? {} : { threadId: target.threadId }),
    },
    usage: end.usage,
    costUsd: end.costUsd ?? null,
    model: end.model,
    iterations: end.iterations,
  };
}

/** The sum of the tokens of the turn's model calls. */
function usageOf(entries: readonly TapeEntry[]): Usage {
  let sum = noUsage;
  for (const entry of entries) {
    if (entry.kind === 'message' && entry.role === 'assistant' && entry.usage !== null) {
      sum = addUsage(sum, entry.usage);
    }
  }
  return sum;
}
