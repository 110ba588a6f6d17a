import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { setTimeout } from 'node:timers/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { DatabaseWatch } from '../../src/core/storage/database-watch.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';

let folder: string;
let path: string;
let clock: VirtualClock;
let told: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assistant-watch-'));
  path = join(folder, 'state.db');
  writeFileSync(path, 'as it was');
  clock = new VirtualClock();
  told = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function watch(): DatabaseWatch {
  return new DatabaseWatch(path, {
    clock,
    isWriting: () => false,
    read: () => told.push('read'),
    lost: (reason) => told.push(reason),
    logLost: (reason) => told.push(reason),
  });
}

/** The system takes a moment to tell of a change. */
async function tells(what: readonly string[]): Promise<void> {
  await waitFor(async () => {
    await clock.advance(1_000);
    return told.length > 0;
  });
  expect(told).toEqual(what);
}

describe('the file of an open database', () => {
  test('is read from end to end once another program has changed it, and else once a day', async () => {
    using _watch = watch();
    await clock.advance(60_000);
    expect(told).toEqual([]);
    writeFileSync(path, 'changed by another program');
    await tells(['read']);
    await clock.advance(86_400_000);
    expect(told).toEqual(['read', 'read']);
  });

  test('is not read because of what the program itself wrote', async () => {
    using own = watch();
    writeFileSync(path, 'written by a checkpoint');
    own.written();
    await setTimeout(20);
    await clock.advance(60_000);
    expect(told).toEqual([]);
  });

  test.each([
    ['removed', (): void => rmSync(path)],
    [
      'replaced',
      (): void => {
        writeFileSync(`${path}.new`, 'from a backup');
        renameSync(`${path}.new`, path);
      },
    ],
  ])('is told once when it was %s', async (what, harm) => {
    using _watch = watch();
    harm();
    await tells([`the file was ${what} while the assistant had it open`]);
  });
});
