import { expect, test } from 'vitest';
import { crashWithStops } from '../support/crash-stops.ts';
import { crashRun, UNHARMED } from '../support/crash-run.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

test.each(['openai', 'anthropic'] as const)(
  '150 kills over every step of a turn lose nothing and double nothing (%s)',
  async (dialect) => {
    const report = await crashRun({ kills: 150, seed, dialect });
    const said = `seed ${seed}, ${dialect}: ${JSON.stringify(report)}`;
    console.log(said);
    expect(report, said).toMatchObject(UNHARMED);
    expect(report.inside / report.kills).toBeGreaterThanOrEqual(0.8);
    expect(Object.entries(report.histogram).filter(([, count]) => count === 0)).toEqual([]);
  },
);

test('60 kills among messages and /stop: each /stop is answered, nothing stays open, no command runs twice', async () => {
  const report = await crashWithStops({ kills: 60, seed });
  const said = `seed ${seed}, stops: ${JSON.stringify(report)}`;
  console.log(said);
  expect(report, said).toMatchObject({ open: 0, doubled: [], tripled: [], repeatedEffects: [] });
  expect(report.stopReplies).toBeLessThanOrEqual(report.stops);
  expect(report.stopReplies + report.markedReplies + report.toldReplies).toBeGreaterThanOrEqual(report.stops);
});
