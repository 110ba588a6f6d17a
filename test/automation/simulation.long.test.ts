import { expect, test } from 'vitest';
import { simulate } from './simulation.ts';

test.each([1, 2, 3, 4, 5, 6])(
  '30 days of often repeated jobs with stops, sleeps and a clock that is put (seed %i)',
  { timeout: 300_000 },
  async (seed) => {
    const report = await simulate({ days: 30, seed, back: seed % 2 === 0, often: true });
    expect(report).toMatchObject({ twice: [], unreported: [], idle: [] });
    expect(report.ran).toBeGreaterThan(1_000);
  },
);
