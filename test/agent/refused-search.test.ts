import { describe, expect, test } from 'vitest';
import { leftOutOf, nextTrial, type Trial } from '../../src/core/agent/refused-search.ts';

interface Found {
  readonly leftOut: readonly number[];
  readonly calls: number;
}

/** Searches among so many suspects; null: every trial was refused. */
function search(count: number, causes: readonly number[], most: number, isSingle = false): Found | null {
  const suspects = Array.from({ length: count }, (_, at) => at);
  const first = (some: readonly number[]): number => Math.ceil(some.length / 2);
  let trial: Trial<number> | null = { stage: 'half', suspects, tried: first(suspects) };
  let found: Found | null = null;
  for (let calls = 1; calls <= most && trial !== null; calls += 1) {
    const leftOut: readonly number[] = leftOutOf(trial);
    const isAccepted: boolean = causes.every((cause) => leftOut.includes(cause));
    if (isAccepted) found = { leftOut, calls };
    const isLast = calls === most - 1 && !(isSingle && isAccepted);
    trial = nextTrial(trial, { isAccepted, isLast, isSingle, first });
  }
  return found;
}

describe('a search for what was refused', () => {
  test('finds one cause among many, wherever it is', () => {
    for (let cause = 0; cause < 64; cause += 1) {
      expect(search(64, [cause], 20)).toMatchObject({ leftOut: [cause] });
      expect(search(64, [cause], 20, true)).toMatchObject({ leftOut: [cause] });
      const few = search(64, [cause], 5, true)?.leftOut;
      expect(few).toContain(cause);
      expect(few?.length).toBeLessThanOrEqual(4);
    }
  });

  test('leaves out enough for two causes, and not all', () => {
    for (let a = 0; a < 16; a += 1) {
      for (let b = a + 1; b < 16; b += 1) {
        for (const most of [4, 6, 10]) {
          const leftOut = search(16, [a, b], most)?.leftOut;
          expect(leftOut).toEqual(expect.arrayContaining([a, b]));
          if (most > 4) expect(leftOut?.length).toBeLessThan(16);
        }
      }
    }
  });

  test('asks nothing more once a single suspect is found', () => {
    expect(search(1, [0], 10)).toEqual({ leftOut: [0], calls: 1 });
    expect(search(2, [1], 10)).toEqual({ leftOut: [1], calls: 2 });
  });

  test('ends when everything is refused', () => {
    expect(search(8, [99], 100)).toBeNull();
  });
});
