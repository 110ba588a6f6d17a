import { closeSync, cpSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { isLogDiscarded } from '../../src/core/storage/wal-header.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

const NOTICE = /^⚠ .*state\.db-wal was damaged, so what the journal noted last is lost/u;

function overwrite(path: string, at: number): void {
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.from([0xff]), 0, 1, at);
  closeSync(file);
}

test.each([0, 9, 17, 30])(
  'byte %i of its header decides whether SQLite reads a log, and is looked at before',
  async (at) => {
    await using folder = await tempFolder();
    const [path, copy] = [join(folder.path, 'a.db'), join(folder.path, 'b.db')];
    using db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE words (word); INSERT INTO words VALUES (1)');
    for (const end of ['', '-wal']) cpSync(`${path}${end}`, `${copy}${end}`);
    expect(isLogDiscarded(copy)).toBe(false);
    overwrite(`${copy}-wal`, at);
    expect(isLogDiscarded(copy)).toBe(true);
    using opened = new DatabaseSync(copy);
    expect(() => opened.prepare('SELECT word FROM words').all()).toThrow(/no such table/u);
  },
);

test('a journal whose log has a damaged header is told once to the owner, and in the status', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'Hello.');
  world.telegram.userSays(OWNER, 'hello');
  await waitFor(() => chatOf(world).includes('Hello.'), { what: 'the answer' });
  // As a killed process leaves them.
  const left = join(world.home, '..', 'left');
  mkdirSync(left);
  for (const name of ['config.json', 'state.db', 'state.db-wal', 'workspace', 'sessions'])
    cpSync(join(world.home, name), join(left, name), { recursive: true });
  overwrite(join(left, 'state.db-wal'), 9);
  await world.restart(left);
  world.telegram.userSays(OWNER, 'hello again');
  await waitFor(() => chatOf(world).filter((text) => text === 'Hello.').length >= 2, { what: 'the next answer' });
  await waitFor(() => chatOf(world).some((text) => NOTICE.test(text)), { what: 'the notice' }).catch(() => {});
  const { warnings } = await world.assistant.call('health', {});
  expect(warnings).toContainEqual(expect.stringContaining('state.db-wal was damaged'));
  expect(chatOf(world).filter((text) => NOTICE.test(text))).toHaveLength(1);
});
