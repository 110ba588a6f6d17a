import type { TurnSpan } from '../../memory/consolidation/session-span.ts';
import { plural } from '../../util/text.ts';
import { leftOutOf, nextTrial, type Trial } from '../refused-search.ts';
import { askToConsolidate, type Asking, type ConsolidationReply } from './question.ts';

type Question = Parameters<typeof askToConsolidate>[0];

/** What the provider refused. */
export interface LeftOut {
  readonly memory: boolean;
  /** A number of exchanges. */
  readonly turns: number;
}

/** `leftOut`: null if the provider refused nothing. */
export type AskedAround = ConsolidationReply & { readonly leftOut: LeftOut | null };

/** A thing that can be left out of the question: MEMORY.md (null), which is the first of them, or a turn. */
type Suspect = TurnSpan | null;

/** Extra model calls to find what was refused: enough for one exchange of 64, give or take three. */
const MOST_CALLS = 6;

/**
 * Asks as `askToConsolidate` does. If the provider refuses the content, halves what is suspected until the cause is
 * found, and asks without it. If it is not found within 6 calls and the provider surely refused the content, all turns are
 * left out, so that the conversation goes on.
 */
export async function askAroundRefused(question: Question, asking: Asking): Promise<AskedAround> {
  const reply = await askToConsolidate(question, asking);
  if (!isRefused(reply)) return { ...reply, leftOut: null };
  const suspects: readonly Suspect[] = [...(question.memory === null ? [] : [null]), ...question.part.turns];
  let trial: Trial<Suspect> | null = { stage: 'half', suspects, tried: memoryOrHalf(suspects) };
  let found: AskedAround | null = null;
  for (let calls = 1; calls <= MOST_CALLS && trial !== null; calls += 1) {
    const asked = await askWithout(question, leftOutOf(trial), asking);
    if (asked.ok) found = asked;
    else if (!isRefused(asked)) return found ?? asked;
    // What was just accepted can be had again, so then the last call may try less.
    const isLast = calls === MOST_CALLS - 1 && !asked.ok;
    trial = nextTrial(trial, { isAccepted: asked.ok, isLast, isSingle: true, first: memoryOrHalf });
  }
  if (found !== null) return found;
  return !reply.ok && reply.refuses === 'surely' ? withoutTurns(question) : { ...reply, leftOut: null };
}

/** Tries MEMORY.md alone first: it goes with every later question, too. */
function memoryOrHalf(suspects: readonly Suspect[]): number {
  return suspects.includes(null) ? 1 : Math.ceil(suspects.length / 2);
}

async function askWithout(question: Question, left: readonly Suspect[], asking: Asking): Promise<AskedAround> {
  const { part, memory } = question;
  const turns = part.turns.filter((turn) => !left.includes(turn));
  if (turns.length === 0 && part.note === null) return withoutTurns(question);
  const kept = { ...question, part: { ...part, turns }, memory: left.includes(null) ? null : memory };
  const reply = await askToConsolidate(kept, asking);
  const without = part.turns.length - turns.length;
  const missing = without === 0 ? '' : ` ${gap(without)}`;
  return {
    ...reply,
    ...(reply.ok ? { entry: reply.entry + missing } : {}),
    leftOut: { memory: left.includes(null), turns: without },
  };
}

function withoutTurns({ part }: Question): AskedAround {
  const count = part.turns.length;
  return { ok: true, entry: gap(count), update: null, leftOut: { memory: false, turns: count } };
}

function gap(count: number): string {
  return `[${plural(count, 'exchange')} left out here, because the provider refused the content.]`;
}

/** What was left out, in words for the owner. */
export function leftOutText({ memory, turns }: LeftOut): string {
  const exchanges = turns === 0 ? [] : [`${plural(turns, 'exchange')} of this conversation`];
  return [...(memory ? ['MEMORY.md'] : []), ...exchanges].join(' and ');
}

function isRefused(reply: ConsolidationReply): boolean {
  return !reply.ok && reply.refuses !== undefined && reply.refuses !== 'no';
}
