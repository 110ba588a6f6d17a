import { expect, test } from 'vitest';
import { crashWithStops } from '../support/crash-stops.ts';
import { crashRun, UNHARMED, type CrashReport } from '../support/crash-run.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

function expectWhole(report: CrashReport): void {
  const said = `seed ${seed}: ${JSON.stringify(report)}`;
  console.log(said);
  expect(report, said).toMatchObject(UNHARMED);
  expect(report.inside / report.kills).toBeGreaterThanOrEqual(0.8);
}

test.concurrent(
  '5 kills at random instants lose no message, answer none twice and repeat no command',
  { timeout: 400_000 },
  async () => {
    expectWhole(await crashRun({ kills: 5, seed, dialect: seed % 2 === 0 ? 'openai' : 'anthropic' }));
  },
);

test.concurrent(
  '2 kills among messages and /stop leave nothing open and repeat no command',
  { timeout: 400_000 },
  async () => {
    const report = await crashWithStops({ kills: 2, seed });
    const said = `seed ${seed}, stops: ${JSON.stringify(report)}`;
    console.log(said);
    expect(report, said).toMatchObject({ open: 0, doubled: [], tripled: [], repeatedEffects: [] });
    expect(report.stopReplies + report.markedReplies + report.toldReplies).toBeGreaterThanOrEqual(report.stops);
  },
);
