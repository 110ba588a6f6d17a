import { execFileSync } from 'node:child_process';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { added, openDatabase } from '../../src/core/storage/open-database.ts';
import { classifyFailure } from '../../src/core/storage/storage-failure.ts';
import { failureOf } from '../config/temporary-home.ts';
import { whyNoSmallDisks } from '../support/small-disk.ts';
import { tempFolder } from '../support/temp.ts';

const first = added(`
  CREATE TABLE words (text TEXT);
  INSERT INTO words VALUES ('${'x'.repeat(600_000)}');
`);
const second = added('ALTER TABLE words ADD COLUMN n INTEGER');

describe('a migration', () => {
  test.skipIf(whyNoSmallDisks() !== null)(
    'is not begun without room for the backup before it, says how much it needs, and is made once there is room',
    async () => {
      const folder = await tempFolder();
      onTestFinished(() => folder[Symbol.asyncDispose]());
      const resize = (options: string): void =>
        void execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder.path]);
      resize('size=3m');
      onTestFinished(() => void execFileSync('umount', ['-l', folder.path]));
      const path = join(folder.path, 'state.db');
      const backupPath = (from: number): string => join(folder.path, 'backups', `v${from}.db`);
      (await openDatabase({ path, migrations: [first], backupPath })).close();
      execFileSync('fallocate', ['-l', '1700000', join(folder.path, 'ballast')]);

      const failure = await failureOf(openDatabase({ path, migrations: [first, second], backupPath }));
      expect(failure).toMatchObject({ code: 'no-room', facts: { needsBytes: expect.any(Number) } });
      expect(classifyFailure(failure)).toBe('full');
      expect(await readdir(join(folder.path, 'backups'))).toEqual([]);
      using kept = new DatabaseSync(path, { readOnly: true });
      expect(kept.prepare('PRAGMA user_version').get()).toEqual({ user_version: 1 });
      kept.close();

      execFileSync('rm', [join(folder.path, 'ballast')]);
      const db = await openDatabase({ path, migrations: [first, second], backupPath });
      expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: 2 });
      db.close();
      expect(await readdir(join(folder.path, 'backups'))).toEqual(['v1.db']);
    },
  );
});
