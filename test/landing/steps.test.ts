import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect } from 'vitest';
import { killOnce, type Outcome, type Phase } from '../support/landing-kills.ts';
import { testWith } from '../support/test-with.ts';

/** In memory where possible: every run syncs its disk several times. */
const BASE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
/** Every other step would take a minute; `kills.long.test.ts` takes all. */
const STRIDE = 5;

/** Kills at every fifth step until a process ends by itself. */
async function everyFifthStep(phase: Phase, atOnce = 3): Promise<Record<Outcome, number>> {
  const counts = { before: 0, after: 0, neither: 0 };
  let [next, isOver] = [0, false];
  const work = async (): Promise<void> => {
    while (!isOver) {
      const outcome = await killOnce(BASE, phase, (next += STRIDE) - STRIDE);
      if (outcome === undefined) isOver = true;
      else counts[outcome] += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return counts;
}

testWith('bubblewrap')(
  'a landing that is killed at any step is whole or never happened, and can be undone',
  async () => {
    const { before, after, neither } = await everyFifthStep('land');
    expect(neither).toBe(0);
    expect(before).toBe(1);
    expect(after).toBeGreaterThan(5);
  },
);

testWith('bubblewrap')('an undo that is killed at any step is whole or never happened', async () => {
  const { before, neither } = await everyFifthStep('undo');
  expect(neither).toBe(0);
  expect(before).toBeGreaterThan(5);
});

testWith('bubblewrap')(
  'a landing that another program gets in the way of is taken back, also when it is killed then',
  async () => {
    const { after, neither } = await everyFifthStep('race');
    expect({ after, neither }).toEqual({ after: 0, neither: 0 });
  },
);
