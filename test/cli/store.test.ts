import { expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { openJournal } from '../../src/core/journal/journal.ts';
import { acquireHomeLock } from '../../src/core/storage/lock.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { CommandLine } from './command-line.ts';

async function withJournal(line: CommandLine): Promise<void> {
  const newId = createIds(systemClock, systemRandom);
  (await openJournal({ path: homePaths(line.home).state, backupPath: null, clock: systemClock, newId }))[
    Symbol.dispose
  ]();
}

test('store vacuum says how large the databases were and are', async () => {
  const line = new CommandLine();
  await withJournal(line);
  expect(await line.run('store', 'vacuum')).toBe(0);
  expect(line.out).toMatch(/^state\.db: [\d.]+ MB before, [\d.]+ MB now\n$/u);
});

test('store vacuum leaves a home alone that an assistant uses, and names it', async () => {
  const line = new CommandLine();
  await withJournal(line);
  using _lock = acquireHomeLock(homePaths(line.home).lock, { pid: process.pid, startedAt: 0 });
  expect(await line.run('store', 'vacuum')).not.toBe(0);
  expect(line.err).toContain(`This home is in use by process ${process.pid}`);
  expect(line.out).toBe('');
});

test('store vacuum says where it looked when there is nothing', async () => {
  const line = new CommandLine();
  expect(await line.run('store', 'vacuum')).not.toBe(0);
  expect(line.err).toBe(`There is no journal at ${homePaths(line.home).state}. Name the home with --home.\n`);
});
