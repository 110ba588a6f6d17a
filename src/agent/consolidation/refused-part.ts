import type { TurnSpan } from '../../memory/consolidation/session-span.ts';
import { plural } from '../../util/text.ts';
import { askToConsolidate, type ConsolidationQuestionPorts, type ConsolidationReply } from './question.ts';

type Question = Parameters<typeof askToConsolidate>[0];

/** `leftOut`: what the provider refused, in words for the owner; null if it refused nothing. */
export type AskedAround = ConsolidationReply & { readonly leftOut: string | null };

/** Extra model calls to find what was refused. */
const MOST_CALLS = 6;

/** A thing that can be left out of the question: MEMORY.md (null) or a turn. */
type Suspect = TurnSpan | null;

/**
 * Asks as `askToConsolidate` does. If the provider refuses the content, halves what is suspected until the cause is
 * found, and asks without it. If it is not found within 6 calls, all turns are left out, so that the conversation goes on.
 */
export async function askAroundRefused(question: Question, ports: ConsolidationQuestionPorts): Promise<AskedAround> {
  const first = await askToConsolidate(question, ports);
  if (!isRefused(first)) return { ...first, leftOut: null };
  let suspects: readonly Suspect[] = [...(question.memory === null ? [] : [null]), ...question.part.turns];
  let found: AskedAround | null = null;
  for (let calls = 0; calls < MOST_CALLS && suspects.length > 0; calls += 1) {
    const half = suspects.slice(0, Math.ceil(suspects.length / 2));
    const reply = await askWithout(question, half, ports);
    if (reply.ok) {
      found = reply;
      if (half.length === 1) break;
      suspects = half;
    } else if (isRefused(reply)) suspects = suspects.slice(half.length);
    else return found ?? reply;
  }
  return found ?? withoutTurns(question);
}

async function askWithout(
  question: Question,
  left: readonly Suspect[],
  ports: ConsolidationQuestionPorts,
): Promise<AskedAround> {
  const { part, memory } = question;
  const turns = part.turns.filter((turn) => !left.includes(turn));
  if (turns.length === 0 && part.note === null) return withoutTurns(question);
  const kept = { ...question, part: { ...part, turns }, memory: left.includes(null) ? null : memory };
  const reply = await askToConsolidate(kept, ports);
  const without = part.turns.length - turns.length;
  const leftOut = [...(left.includes(null) ? ['MEMORY.md'] : []), ...(without === 0 ? [] : [turnsText(without)])];
  const missing = without === 0 ? '' : ` ${gap(without)}`;
  return { ...reply, ...(reply.ok ? { entry: reply.entry + missing } : {}), leftOut: leftOut.join(' and ') };
}

function withoutTurns({ part }: Question): AskedAround {
  const count = part.turns.length;
  return { ok: true, entry: gap(count), update: null, leftOut: turnsText(count) };
}

function gap(count: number): string {
  return `[${plural(count, 'exchange')} left out here, because the provider refused the content.]`;
}

function turnsText(count: number): string {
  return `${plural(count, 'exchange')} of this conversation`;
}

function isRefused(reply: ConsolidationReply): boolean {
  return !reply.ok && reply.refused === true;
}
