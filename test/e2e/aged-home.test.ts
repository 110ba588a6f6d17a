import { expect, test } from 'vitest';
import { liveAged } from '../support/aged-life.ts';

test('a home of two years is swept while it is used: no statement is felt, the file shrinks, and all sums stay', async () => {
  const life = await liveAged({ messages: 600, runs: 1_800, sweepMs: 40_000 });
  expect(life.bytesAfter).toBeLessThan(0.8 * life.bytesBefore);
  expect(life.removed['runs of jobs']).toBeGreaterThan(700);
  expect(life.sweeping.statement.ms).toBeLessThanOrEqual(3);
  expect(life.living.statement.ms).toBeLessThanOrEqual(3);
  expect(life.sweeping.transaction.ms).toBeGreaterThan(0);
  // Whatever else the machine was doing.
  expect(Math.max(life.sweeping.outlier.ms, life.living.outlier.ms)).toBeLessThanOrEqual(30);
  expect(Math.max(...life.whyMs)).toBeLessThan(1_000);
  // What was used meanwhile comes on top.
  const tokens = (text: string): number =>
    Number(/Here in total: ([\d,]+) tokens/u.exec(text)?.[1]?.replaceAll(',', ''));
  expect(tokens(life.usage[0])).toBeGreaterThan(500_000);
  expect(tokens(life.usage[1]) - tokens(life.usage[0])).toBeLessThan(100_000);
  expect(tokens(life.usage[1])).toBeGreaterThan(tokens(life.usage[0]));
});
