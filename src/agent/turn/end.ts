import type { InboundMessage, TurnOutcome } from '../../bus/messages.ts';
import type { EntryDraft, TapeEntry } from '../../session/entry.ts';
import { addUsage, noUsage, type Usage } from '../../util/token-usage.ts';
import { answeringModel, signed } from './answering-model.ts';
import { iterationsOf, pendingCalls } from './steps.ts';
import { toolEntry } from './tool-calls.ts';
import type { Turn } from './current-turn.ts';

/** Abort reason of a turn's signal that ends the turn. Any other reason leaves the turn open for the next start. */
export class EndTurn extends Error {
  readonly outcome: 'stopped' | 'failed';
  /** The sentence for the person; '' when the reply to the /stop told it already. */
  readonly sentence: string;

  constructor(outcome: 'stopped' | 'failed', sentence: string) {
    super(sentence === '' ? outcome : sentence);
    this.name = 'EndTurn';
    this.outcome = outcome;
    this.sentence = sentence;
  }
}

/**
 * Ends a turn that was stopped or timed out: appends a result for each call without one, then the `turn-end`. `partial`:
 * the part of the model's answer that people saw.
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

/** The field `partial` of a `turn-end`; left out when people saw nothing. */
export function partialOf(shown: string): { readonly partial?: string } {
  return shown.trim() === '' ? {} : { partial: shown };
}

/** Makes the `turn-end` of a turn. `entries`: the turn's entries, with those that are written in the same append. */
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
