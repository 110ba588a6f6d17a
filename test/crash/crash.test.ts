import { expect, test } from 'vitest';
import { crashRun, type CrashReport } from '../support/crash-run.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

function expectWhole(report: CrashReport): void {
  console.log(`seed ${seed}: ${JSON.stringify(report)}`);
  expect(report).toMatchObject({
    lost: [],
    doubled: [],
    wrongMarks: [],
    repeatedEffects: [],
    missingEffects: [],
  });
  expect(report.inside / report.kills).toBeGreaterThanOrEqual(0.8);
}

test(
  '20 kills at random instants lose no message, answer none twice and repeat no command',
  { timeout: 120_000 },
  async () => {
    expectWhole(await crashRun({ kills: 20, seed, dialect: seed % 2 === 0 ? 'openai' : 'anthropic' }));
  },
);
