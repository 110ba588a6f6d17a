import { mergeFacts } from '../consolidation/merge-facts.ts';
import { factLines } from './facts.ts';

/** A change of MEMORY.md by one call: its text before and after. */
export interface TextChange {
  readonly before: string;
  readonly after: string;
}

/** What becomes of one fact: it leaves because it was new, it is there again, or it stays as it is. */
export interface TakenFact {
  readonly fact: string;
  readonly outcome: 'restored' | 'removed' | 'left';
  /** Why it stays; empty otherwise. */
  readonly reason: string;
}

/** Takes one change out of a text that may have been changed since; everything else in it stays where it is. */
export function takeBackFact(
  now: string,
  { before, after }: TextChange,
): { readonly text: string; readonly facts: readonly TakenFact[] } {
  const [old, made, present] = [factsIn(before), factsIn(after), factsIn(now)];
  const added = [...made].filter((fact) => !old.has(fact));
  const removed = [...old].filter((fact) => !made.has(fact));
  const [fact = ''] = added.length > 0 ? added : removed;
  const isBack = removed.length > 0 && removed.every((one) => present.has(one));
  if (isBack && added.every((one) => !present.has(one))) {
    return { text: now, facts: [] };
  }
  if (added.some((one) => !present.has(one))) {
    return { text: now, facts: [{ fact, outcome: 'left', reason: 'it was changed or removed since' }] };
  }
  const outcome = removed.length > 0 ? 'restored' : 'removed';
  return { text: mergeFacts(after, before, now), facts: [{ fact: removed[0] ?? fact, outcome, reason: '' }] };
}

function factsIn(text: string): ReadonlySet<string> {
  return new Set(factLines(text).map(({ fact }) => fact));
}
