import { expect, test } from 'vitest';
import { history } from './clock-property.ts';

const SEEDS = 100;

test.each(Array.from({ length: 20 }, (_, part) => 100 + part * SEEDS))(
  'however the clock is put, histories %i and on: each due time is run, skipped or late, and never twice',
  { timeout: 1_800_000 },
  async (first) => {
    for (let seed = first; seed < first + SEEDS; seed += 1) {
      expect({ seed, ...(await history(seed)) }).toMatchObject({
        seed,
        twice: [],
        forgotten: [],
        untold: [],
        rested: [],
      });
    }
  },
);
