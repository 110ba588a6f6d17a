import { expect, test } from 'vitest';
import { liveAged } from '../support/aged-life.ts';

const MEGABYTE = 1_000_000;

test('two years with 70,000 messages and 1.1 million runs of jobs: at most 100 MB, no statement over 3 ms, a start like that of a fresh home', async () => {
  const life = await liveAged({ messages: 70_000, runs: 1_100_000, sweepMs: 60 * 60_000 });
  const tables = Object.entries(life.tables).filter(([, bytes]) => bytes > MEGABYTE / 4);
  process.stdout.write(`${JSON.stringify({ ...life, tables: Object.fromEntries(tables) }, null, 2)}\n`);
  expect(life.bytesAfter).toBeLessThanOrEqual(100 * MEGABYTE);
  expect(Math.max(...life.whyMs)).toBeLessThan(1_000);
  expect(life.sweeping.statement.ms).toBeLessThanOrEqual(3);
  expect(life.living.statement.ms).toBeLessThanOrEqual(3);
  // 3 ms of work, the statement in which they are over, and the commit.
  expect(life.sweeping.transaction.ms).toBeGreaterThan(0);
  expect(life.sweeping.transaction.ms).toBeLessThanOrEqual(6);
  expect(life.startMs.swept).toBeLessThanOrEqual(1.2 * life.startMs.fresh);
}, 7_200_000);
