import { expect, test } from 'vitest';
import { crashAroundDueTimes } from '../support/crash-cron.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

test.each([1, 2, 3, 4])(
  '53 kills around due times, part %i: nothing that was due comes twice, and nothing is forgotten',
  async (part) => {
    const report = await crashAroundDueTimes({ kills: 53, seed: seed + part });
    console.log(`seed ${seed + part}: ${JSON.stringify(report)}`);
    expect(report).toMatchObject({ lost: [], doubled: [], tripled: [], unreported: 0, extraTicks: 0, open: 0 });
    expect(report.ticks).toBeGreaterThan(3);
    expect(report.inside).toBeGreaterThan(5);
  },
);
