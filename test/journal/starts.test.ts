import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { createAssistant, type Assistant } from '../../src/app.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { Starts } from '../../src/core/journal/starts.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { tempFolder } from '../support/temp.ts';

const MINUTE = 60_000;

describe('the row of starts', () => {
  test('grows with each start until one ends it, and says of those that died before', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, '.starts');
    let now = 10_000_000;
    const clock = { now: () => now };
    for (let died = 0; died < 6; died += 1) {
      const starts = await Starts.count(path, clock);
      expect(starts).toMatchObject({ unclean: died, recent: died + 1, since: 10_000_000, isLoop: died > 4 });
      expect(starts.isDoubted).toBe(died > 0);
      now += 1000;
    }
    now += 5 * MINUTE;
    const late = await Starts.count(path, clock);
    expect(late).toMatchObject({ unclean: 6, recent: 1, isLoop: false, isDoubted: true });
    await late.calm();
    expect(late.isDoubted).toBe(false);
    expect(await Starts.count(path, clock)).toMatchObject({ unclean: 1, recent: 2 });
    const failed = await Starts.count(path, clock);
    failed.end({ ran: false });
    const next = await Starts.count(path, clock);
    expect([failed.unclean, next.unclean]).toEqual([2, 2]);
    next.end({ ran: true });
    expect(await Starts.count(path, clock)).toMatchObject({ unclean: 0, recent: 1 });
  });

  test('keeps the newest, and counts a file that cannot be read as none', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, '.starts');
    const clock = { now: () => 10_000_000 };
    for (let n = 0; n < 25; n += 1) await Starts.count(path, clock);
    expect((await readFile(path, 'utf8')).split(' ')).toHaveLength(20);
    await writeFile(path, 'torn \0\0');
    expect(await Starts.count(path, clock)).toMatchObject({ unclean: 0 });
  });
});

test('an orderly stop that cannot write the journal is no crash, and a crash after it is one', async () => {
  await using folder = await tempFolder();
  const home = join(folder.path, 'home');
  await mkdir(home, { mode: 0o700 });
  const { state, starts } = homePaths(home);
  const start = (): Promise<Assistant> => createAssistant({ home, environment: { HOME: folder.path }, log: silentLog });
  const counted = async (): Promise<number> => (await readFile(starts, 'utf8')).split(' ').length;
  const stopped = await start();
  expect(await counted()).toBe(1);
  {
    // As a full disk: nothing can be committed.
    using other = new DatabaseSync(state);
    other.exec('BEGIN IMMEDIATE');
    await stopped[Symbol.asyncDispose]();
    other.exec('ROLLBACK');
  }
  expect(existsSync(starts)).toBe(false);
  const crashed = await start();
  expect(await counted()).toBe(1);
  crashed.markCrashed();
  await crashed[Symbol.asyncDispose]();
  await using _last = await start();
  expect(await counted()).toBe(2);
});
