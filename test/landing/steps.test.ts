import { tmpdir } from 'node:os';
import { expect } from 'vitest';
import { killOnce, type Outcome, type Phase } from '../support/landing-kills.ts';
import { testWith } from '../support/test-with.ts';

/** Kills at every n-th step until a process ends by itself; so many at once. */
async function everyStep(phase: Phase, atOnce = 3): Promise<Record<Outcome, number>> {
  const counts = { before: 0, after: 0, neither: 0 };
  let [next, isOver] = [0, false];
  const work = async (): Promise<void> => {
    while (!isOver) {
      const outcome = await killOnce(tmpdir(), phase, next++);
      if (outcome === undefined) isOver = true;
      else counts[outcome] += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return counts;
}

testWith('bubblewrap')('a landing that is killed at any step is whole or never happened, and can be undone', async () => {
  const { before, after, neither } = await everyStep('land');
  expect(neither).toBe(0);
  expect(before).toBeGreaterThanOrEqual(0);
  expect(after).toBeGreaterThan(20);
});

testWith('bubblewrap')('an undo that is killed at any step is whole or never happened', async () => {
  const { before, neither } = await everyStep('undo');
  expect(neither).toBe(0);
  expect(before).toBeGreaterThan(20);
});
