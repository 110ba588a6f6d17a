import type { InboundMessage, TurnOutcome } from '../../bus/messages.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { addUsage, noUsage, type Usage } from '../../util/token-usage.ts';
import { answeringModel, signed } from './answering-model.ts';
import { iterationsOf, pendingCalls } from './steps.ts';
import { toolEntry } from './tool-calls.ts';
import type { Turn } from './turn-ports.ts';

/** Why a turn's signal aborted when the turn itself is to end; any other reason leaves it open for the next start. */
export class EndTurn extends Error {
  readonly outcome: 'stopped' | 'failed';
  /** What the person is told; empty when a /stop has told it already. */
  readonly sentence: string;

  constructor(outcome: 'stopped' | 'failed', sentence: string) {
    super(sentence === '' ? outcome : sentence);
    this.name = 'EndTurn';
    this.outcome = outcome;
    this.sentence = sentence;
  }
}

/**
 * Answers the calls that were cut off, so that the transcript stays whole, and ends the turn. `partial`: what was shown
 * of the answer that was cut off.
 */
export async function endCut(turn: Turn, reason: EndTurn, partial = ''): Promise<void> {
  const { session, facts } = turn;
  const output = reason.outcome === 'stopped' ? 'stopped by the user' : `stopped: ${reason.sentence}`;
  const results = pendingCalls(session.turn(facts.turnId)).map((pending) =>
    toolEntry(facts.turnId, pending, { title: pending.call.name, output, metadata: {}, isError: true }, false),
  );
  const end = { ...endDraft(turn, reason.outcome, reason.sentence), ...partialOf(partial) };
  await session.append([...results, end]);
}

/** Of a `turn-end`: what people saw of an answer that never came. */
export function partialOf(shown: string): { readonly partial?: string } {
  return shown.trim() === '' ? {} : { partial: shown };
}

/** The end of a turn; `entries` are those of the turn, also what is about to be written with it. */
export function endDraft(
  turn: Turn,
  outcome: TurnOutcome,
  answer: string,
  entries: readonly TapeEntry[] = turn.session.turn(turn.facts.turnId),
): EntryDraft {
  const { facts, chosen } = turn;
  return turnEndEntry({
    turnId: facts.turnId,
    outcome,
    answer: outcome === 'answered' ? signed(answer, entries, chosen) : answer,
    target: facts.messages.at(-1),
    usage: usageOf(entries),
    costUsd: turn.costUsd(),
    model: answeringModel(entries, chosen),
    iterations: iterationsOf(entries),
  });
}

export function turnEndEntry(end: {
  turnId: string;
  outcome: TurnOutcome;
  answer: string;
  target: InboundMessage | undefined;
  usage: Usage;
  /** @default unknown */
  costUsd?: number | null;
  model: string | null;
  iterations: number;
}): EntryDraft {
  const { target } = end;
  return {
    kind: 'turn-end',
    turn: end.turnId,
    outcome: end.outcome,
    answer: end.answer,
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

/** What the turn's model calls add up to so far. */
function usageOf(entries: readonly TapeEntry[]): Usage {
  let sum = noUsage;
  for (const entry of entries) {
    if (entry.kind === 'message' && entry.role === 'assistant' && entry.usage !== null) {
      sum = addUsage(sum, entry.usage);
    }
  }
  return sum;
}
