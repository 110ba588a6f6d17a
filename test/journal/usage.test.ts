import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import type { UsageRow } from '../../src/core/journal/usage.ts';
import { noUsage } from '../../src/core/util/token-usage.ts';
import { tempFolder } from '../support/temp.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const row = (overrides: Partial<UsageRow>): UsageRow => ({
  turnId: 't1',
  session: 'a',
  source: 'user',
  provider: 'p',
  model: 'm',
  usage: { ...noUsage, input: 10, cached: 4, output: 5 },
  costUsd: 0.5,
  ...overrides,
});

const open = (folder: string, clock: VirtualClock): Promise<Journal> =>
  openJournal({ path: join(folder, 'state.db'), backupPath: null, clock, newId: () => 'id' });

test('the sums of a day are the same kept up to date as read from the file', async () => {
  await using folder = await tempFolder();
  const clock = new VirtualClock();
  const midnight = clock.now();
  using journal = await open(folder.path, clock);
  await journal.usage.record(row({ session: 'b' }));
  const running = journal.usage.day(midnight);
  await journal.usage.record(row({}));
  await journal.usage.record(row({ source: 'cron', costUsd: null }));
  using other = await open(folder.path, clock);
  const read = other.usage.day(midnight);
  for (const day of [running, read]) {
    expect(day.total).toEqual({
      calls: 3,
      usage: { ...noUsage, input: 30, cached: 12, output: 15 },
      costUsd: 1,
      unpriced: 1,
    });
    expect([day.of('user').calls, day.of('cron').unpriced, day.of('heartbeat').calls]).toEqual([2, 1, 0]);
    expect([day.ofSession('a').calls, day.ofSession('b').calls, day.ofSession('c').calls]).toEqual([2, 1, 0]);
  }
  expect(journal.usage.day(midnight).total).toEqual(journal.usage.since(midnight));
});

test('a new day begins with what was used since its midnight', async () => {
  await using folder = await tempFolder();
  const clock = new VirtualClock();
  using journal = await open(folder.path, clock);
  const midnight = clock.now();
  journal.usage.day(midnight);
  await journal.usage.record(row({}));
  await clock.advance(86_400_000);
  const record = journal.usage.record(row({ costUsd: 2 }));
  await clock.advance(1);
  await record;
  expect(journal.usage.day(midnight + 86_400_000).total.costUsd).toBe(2);
});

test('the calls of one turn are found among those of its session', async () => {
  await using folder = await tempFolder();
  const clock = new VirtualClock();
  using journal = await open(folder.path, clock);
  const began = clock.now();
  await Promise.all(
    [row({}), row({}), row({ turnId: 't2' }), row({ session: 'b' })].map((one) => journal.usage.record(one)),
  );
  expect(journal.usage.ofTurn('t1', 'a', began)).toMatchObject({ calls: 2, costUsd: 1 });
  expect(journal.usage.ofTurn('t9', 'a', began).calls).toBe(0);
});
