import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempFolder } from '../support/temp.ts';

test('a commit is on the disk when it is done', async () => {
  await using own = await tempFolder();
  const script = `
    import { openDatabase } from ${JSON.stringify(new URL('../../src/storage/open-database.ts', import.meta.url).href)};
    const db = await openDatabase({ path: process.argv[1], migrations: [], backupPath: null });
    console.log(JSON.stringify([db.prepare('PRAGMA synchronous').get(), db.prepare('PRAGMA journal_mode').get()]));
  `;
  // In a process of its own: in this one nobody waits for disks.
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', script, join(own.path, 'db')], {
    encoding: 'utf8',
  });
  expect(JSON.parse(stdout)).toEqual([{ synchronous: 1 }, { journal_mode: 'wal' }]);
});
