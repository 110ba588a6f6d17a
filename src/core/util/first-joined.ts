/**
 * The index of the earliest of the changes that lead to change `last` without a gap: each `follows` the one before it, so
 * nobody else changed anything between them. `changes`: oldest first.
 */
export function firstJoined<Change>(
  changes: readonly Change[],
  last: number,
  follows: (change: Change, earlier: Change) => boolean,
): number {
  for (let first = last; ; first -= 1) {
    const [change, earlier] = [changes[first], changes[first - 1]];
    if (change === undefined || earlier === undefined || !follows(change, earlier)) return first;
  }
}
