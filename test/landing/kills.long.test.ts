import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { expect } from 'vitest';
import { killOnce, type Phase } from '../support/landing-kills.ts';
import { testWith } from '../support/test-with.ts';

const KILLS = 500;
const PHASES: readonly Phase[] = ['land', 'undo', 'race'];

testWith('bubblewrap')(
  `${KILLS} kills of landings and undos never leave half of one`,
  { timeout: 3_600_000 },
  async () => {
    const base = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
    const found: string[] = [];
    const steps = { land: 0, undo: 0, race: 0 };
    let kills = 0;
    const work = async (): Promise<void> => {
      while (kills < KILLS) {
        const phase = PHASES[kills % PHASES.length] ?? 'land';
        const step = steps[phase]++;
        const outcome = await killOnce(base, phase, step);
        // The process ended before that step: from the first one again.
        if (outcome === undefined) steps[phase] = 0;
        else kills += 1;
        if (outcome === 'neither') found.push(`${phase} ${step}`);
      }
    };
    await Promise.all([work(), work(), work()]);
    expect(found).toEqual([]);
  },
);
