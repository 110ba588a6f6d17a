/** Of reciprocal rank fusion: how little the first places count more than the next. */
const RANK = 60;

/**
 * Joins two rankings of ids by reciprocal ranks. The first `limit` of the words are all in it, so that what words find is never
 * pushed out; what means the same comes on top, so there may be up to twice `limit`.
 */
export function fused(
  words: readonly number[],
  meaning: readonly number[],
  limit: number,
): readonly { readonly id: number; readonly score: number }[] {
  const scores = new Map<number, number>();
  for (const ranking of [words, meaning]) {
    for (const [rank, id] of ranking.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (RANK + rank + 1));
  }
  const kept = new Set(words.slice(0, limit));
  return [...scores]
    .toSorted(([, a], [, b]) => b - a)
    .filter(([id], place) => place < limit || kept.has(id))
    .map(([id, score]) => ({ id, score }));
}
