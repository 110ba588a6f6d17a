import {
  closeSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { Database } from '../../src/core/storage/database.ts';
import { added, openDatabase } from '../../src/core/storage/open-database.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { errorCode } from '../../src/core/util/errors.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const migrations = [added('CREATE TABLE words (word TEXT NOT NULL) STRICT')];
/** Within this time damage of a file that the process holds open is noticed, ms. */
const NOTICED_MS = 5_000;

/** An open database, and the codes of what it reports. `sayMuch` is enough for a checkpoint. */
async function openWords(path: string) {
  const codes: (string | undefined)[] = [];
  const db = new Database(await openDatabase({ path, migrations, backupPath: null }), {
    path,
    clock: systemClock,
    onFailure: (error) => codes.push(errorCode(error)),
    onSyncFailure: (error) => codes.push(error.code),
  });
  const say = (word: string): Promise<unknown> => db.write(() => db.run('INSERT INTO words VALUES (?)', word));
  const sayMuch = (when: string): void => {
    for (let n = 0; n < 1_500; n += 1) void say(`${when} ${n} ${'x'.repeat(500)}`).catch(() => {});
  };
  await say('before');
  return { codes, db, say, sayMuch };
}

function overwrite(path: string, from: number, bytes: Uint8Array): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, from);
  closeSync(file);
}

const HARMS: readonly (readonly [string, (path: string) => void])[] = [
  ['zeros from the second page on', (path) => overwrite(path, 4_096, Buffer.alloc(statSync(path).size - 4_096))],
  ['cut to two pages', (path) => truncateSync(path, 8_192)],
  ['cut to nothing', (path) => truncateSync(path, 0)],
  ['random bytes in its place', (path) => writeFileSync(path, Buffer.alloc(100_000, 'not a page '))],
];

test.each(
  HARMS.flatMap(([name, harm]) => [
    [name, 'right before a checkpoint', harm] as const,
    [name, 'while nothing is written', harm] as const,
  ]),
)('an open journal is noticed to be damaged: %s, %s', async (_name, when, harm) => {
  await using own = await tempFolder();
  const path = join(own.path, 'state.db');
  const { codes, db, say, sayMuch } = await openWords(path);
  if (when === 'while nothing is written') {
    sayMuch('before');
    await say('last');
  }
  harm(path);
  // A thread that opens the file now can't, and must not take the file for its own.
  if (when === 'right before a checkpoint') sayMuch('after');
  await waitFor(() => codes.includes('journal-damaged'), { timeoutMs: NOTICED_MS, what: 'the damage' });
  try {
    db.close();
  } catch {
    // The file is what this is about.
  }
});

test.each<[string, (log: string) => void]>([
  ['removed', (log) => rmSync(log)],
  [
    'replaced',
    (log) => {
      writeFileSync(`${log}.new`, readFileSync(log).subarray(0, 4_096));
      renameSync(`${log}.new`, log);
    },
  ],
])(
  'a write-ahead log that is %s is noticed: what was committed is written out, and no more is accepted',
  async (_name, harm) => {
    await using own = await tempFolder();
    const path = join(own.path, 'state.db');
    const { codes, db, say, sayMuch } = await openWords(path);
    sayMuch('before');
    await say('last');
    harm(`${path}-wal`);
    await say('after').catch(() => {});
    await waitFor(() => codes.length > 0, { timeoutMs: NOTICED_MS, what: 'the loss' });
    expect(codes).toContain('sync-failed');
    await expect(say('too late')).rejects.toMatchObject({ code: 'sync-failed' });
    db.close();
    using after = new DatabaseSync(path);
    const words = after.prepare("SELECT word FROM words WHERE word NOT LIKE 'before %'").all();
    expect(words.map(({ word }) => word)).toEqual(['before', 'last', 'after']);
    expect(after.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
  },
);
