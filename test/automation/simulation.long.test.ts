import { expect, test } from 'vitest';
import { simulate } from './simulation.ts';

test.each([7, 11])(
  '30 days with stops, sleeps and a clock that is put (seed %i)',
  { timeout: 300_000 },
  async (seed) => {
    const report = await simulate({ days: 30, seed, back: seed === 11 });
    expect(report).toMatchObject({ twice: [], unreported: [], idle: [] });
    expect(report.ran).toBeGreaterThan(500);
    expect(report.missed).toBeGreaterThan(300);
  },
);

test.each([1, 2, 3, 4, 5, 6])(
  '30 days of often repeated jobs with stops, sleeps and a clock that is put (seed %i)',
  { timeout: 300_000 },
  async (seed) => {
    const report = await simulate({ days: 30, seed, back: seed % 2 === 0, often: true });
    expect(report).toMatchObject({ twice: [], unreported: [], idle: [] });
    expect(report.ran).toBeGreaterThan(1_000);
  },
);
