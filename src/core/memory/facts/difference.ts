import { recordKey, factLines } from '../files/facts.ts';
import { nearestFact } from './near.ts';

/** How the facts of MEMORY.md differ between two texts. */
export interface FactDifference {
  readonly added: readonly string[];
  /** The facts that left, each with the fact that took its place; null: none did. */
  readonly gone: readonly { readonly fact: string; readonly replacedBy: string | null }[];
}

/** The different facts of a text by what makes them the same, in its order. */
export function factsByKey(text: string): ReadonlyMap<string, string> {
  const facts = new Map<string, string>();
  for (const { fact } of factLines(text)) if (!facts.has(recordKey(fact))) facts.set(recordKey(fact), fact);
  return facts;
}

/**
 * The facts that a change brings and takes away. What takes the place of one is `replacement`, else the added fact that is nearest to
 * it, else the one that came after the same fact, where as many came as left.
 */
export function factDifference(before: string, after: string, replacement?: string): FactDifference {
  const [old, now] = [factsByKey(before), factsByKey(after)];
  const added = [...now].filter(([key]) => !old.has(key)).map(([, fact]) => fact);
  const gone = [...old].filter(([key]) => !now.has(key)).map(([, fact]) => fact);
  const near = new Map(gone.map((fact) => [recordKey(fact), replacement ?? nearestFact(fact, added)]));
  const taken = new Set([...near.values()].map((fact) => recordKey(fact ?? '')));
  const inPlace = pairedByPlace(old, now, (key) => near.get(key) !== undefined || taken.has(key));
  return {
    added,
    gone: gone.map((fact) => ({ fact, replacedBy: near.get(recordKey(fact)) ?? inPlace.get(recordKey(fact)) ?? null })),
  };
}

/** Where as many facts came as left after a fact that stayed, the first took the place of the first, and so on. */
function pairedByPlace(
  old: ReadonlyMap<string, string>,
  now: ReadonlyMap<string, string>,
  isPaired: (key: string) => boolean,
): ReadonlyMap<string, string> {
  const came = gapsOf(now, old, isPaired);
  const pairs = new Map<string, string>();
  for (const [place, left] of gapsOf(old, now, isPaired)) {
    const there = came.get(place) ?? [];
    if (there.length !== left.length) continue;
    for (const [n, fact] of left.entries()) {
      const other = there[n];
      if (other !== undefined) pairs.set(recordKey(fact), other);
    }
  }
  return pairs;
}

/** The facts that only `facts` has and that are not paired, by the fact before them that both have; '' for the beginning. */
function gapsOf(
  facts: ReadonlyMap<string, string>,
  others: ReadonlyMap<string, string>,
  isPaired: (key: string) => boolean,
): ReadonlyMap<string, readonly string[]> {
  const gaps = new Map<string, string[]>();
  let place = '';
  for (const [key, fact] of facts) {
    if (others.has(key)) place = key;
    else if (!isPaired(key)) gaps.set(place, [...(gaps.get(place) ?? []), fact]);
  }
  return gaps;
}
