import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Database, type DatabaseOptions } from '../../src/core/storage/database.ts';
import { added, openDatabase } from '../../src/core/storage/open-database.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { tempFolder } from '../support/temp.ts';

const migrations = [added('CREATE TABLE words (word TEXT NOT NULL) STRICT')];

/** A database with a table of words; `words` is what another connection finds there. */
async function wordStore(path: string) {
  const db = new Database(await openDatabase({ path, migrations, backupPath: null }), { path, clock: systemClock });
  const reader = await openDatabase({ path, migrations, backupPath: null });
  const say = (word: string) => () => db.run('INSERT INTO words VALUES (?)', word);
  const words = () =>
    reader
      .prepare('SELECT word FROM words ORDER BY rowid')
      .all()
      .map(({ word }) => word);
  const close = () => {
    reader.close();
    db.close();
  };
  return { db, say, words, [Symbol.dispose]: close };
}

test.each([0, 1, 2])('of three writes in one transaction, the one at %i fails and is undone alone', async (failing) => {
  await using own = await tempFolder();
  using store = await wordStore(join(own.path, 'db'));
  const { db, say, words } = store;
  const writes = ['a', 'b', 'c'].map((word, at) =>
    db.write(() => {
      say(word)();
      if (at === failing) throw new Error('no');
      return word;
    }),
  );
  const ended = await Promise.allSettled(writes);
  const kept = ['a', 'b', 'c'].filter((_, at) => at !== failing);
  expect(ended.map(({ status }) => status === 'rejected')).toEqual([0, 1, 2].map((at) => at === failing));
  expect(words()).toEqual(kept);
  await db.write(say('d'));
  expect(words()).toEqual([...kept, 'd']);
});

test('a write that changed nothing is made durable only for one who waits for that', async () => {
  await using own = await tempFolder();
  const path = join(own.path, 'db');
  let commits = 0;
  const watermark: DatabaseOptions['watermark'] = () => ({
    failure: undefined,
    committed: () => (commits += 1),
    durable: async () => {},
    settled: async () => {},
    close: () => {},
  });
  const db = new Database(await openDatabase({ path, migrations, backupPath: null }), {
    path,
    clock: systemClock,
    watermark,
  });
  await db.write(() => db.run('DELETE FROM words'), 'lazy');
  expect(commits).toBe(0);
  await db.write(() => db.run("INSERT INTO words VALUES ('a')"), 'lazy');
  expect(commits).toBe(1);
  await db.write(() => {}, 'durable');
  expect(commits).toBe(2);
  db.close();
});

test('a commit is on the disk when it is done', async () => {
  await using own = await tempFolder();
  const script = `
    import { openDatabase } from ${JSON.stringify(new URL('../../src/core/storage/open-database.ts', import.meta.url).href)};
    const db = await openDatabase({ path: process.argv[1], migrations: [], backupPath: null });
    console.log(JSON.stringify([db.prepare('PRAGMA synchronous').get(), db.prepare('PRAGMA journal_mode').get()]));
  `;
  // In a process of its own: in this one nobody waits for disks.
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script, join(own.path, 'db')], {
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toEqual([{ synchronous: 1 }, { journal_mode: 'wal' }]);
});
