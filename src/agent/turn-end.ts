import type { InboundMessage, TurnOutcome } from '../bus/messages.ts';
import type { EntryDraft } from '../session/entry.ts';
import { addUsage, noUsage, type Usage } from '../util/usage.ts';
import { iterationsOf, pendingCalls } from './steps.ts';
import { toolEntry } from './tool-calls.ts';
import type { Turn } from './turn-context.ts';

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

/** Answers the calls that were cut off, so that the transcript stays whole, and ends the turn. */
export async function endCut(turn: Turn, reason: EndTurn): Promise<void> {
  const { session, facts } = turn;
  const output = reason.outcome === 'stopped' ? 'stopped by the user' : `stopped: ${reason.sentence}`;
  const results = pendingCalls(session.turn(facts.turnId)).map((pending) =>
    toolEntry(facts.turnId, pending, { title: pending.call.name, output, metadata: {}, isError: true }, false),
  );
  await session.append([...results, endDraft(turn, reason.outcome, reason.sentence)]);
}

export function endDraft(turn: Turn, outcome: TurnOutcome, answer: string, usage = usageOf(turn)): EntryDraft {
  const { facts, session, chosen } = turn;
  return turnEndEntry({
    turnId: facts.turnId,
    outcome,
    answer,
    target: facts.messages.at(-1),
    usage,
    model: `${chosen.providerName}/${chosen.model}`,
    iterations: iterationsOf(session.turn(facts.turnId)),
  });
}

export function turnEndEntry(end: {
  turnId: string;
  outcome: TurnOutcome;
  answer: string;
  target: InboundMessage | undefined;
  usage: Usage;
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
    costUsd: null,
    model: end.model,
    iterations: end.iterations,
  };
}

/** What the turn's model calls add up to so far. */
export function usageOf({ session, facts }: Turn): Usage {
  let sum = noUsage;
  for (const entry of session.turn(facts.turnId)) {
    if (entry.kind === 'message' && entry.role === 'assistant' && entry.usage !== null) {
      sum = addUsage(sum, entry.usage);
    }
  }
  return sum;
}
