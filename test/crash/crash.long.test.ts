import { expect, test } from 'vitest';
import { crashRun } from '../support/crash-run.ts';

const seed = Number(process.env['CRASH_SEED'] ?? Date.now() % 1_000_000);

test.each(['openai', 'anthropic'] as const)(
  '100 kills over every step of a turn lose nothing and double nothing (%s)',
  async (dialect) => {
    const report = await crashRun({ kills: 100, seed, dialect });
    console.log(`seed ${seed}, ${dialect}: ${JSON.stringify(report)}`);
    expect(report).toMatchObject({
      lost: [],
      doubled: [],
      wrongMarks: [],
      repeatedEffects: [],
      missingEffects: [],
    });
    expect(report.inside / report.kills).toBeGreaterThanOrEqual(0.8);
    expect(Object.entries(report.histogram).filter(([, count]) => count === 0)).toEqual([]);
  },
);
