import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { added, openDatabase, type Migration } from '../../src/core/storage/open-database.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const NOW = journalMigrations.length;

const open = (home: string, migrations: readonly Migration[]): Promise<DatabaseSync> =>
  openDatabase({ path: join(home, 'state.db'), migrations, backupPath: null });

async function talk(world: World, text: string, answer: string): Promise<void> {
  world.model.reply(answer);
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).includes(answer), { what: answer });
}

/** What the model was sent last. */
const asked = (world: World): string => JSON.stringify(world.model.requests.at(-1));

test('a home of the version before is brought up to date, with a copy of its journal, and who was let in still is', async () => {
  const before = journalMigrations.slice(0, -1);
  await using world = await startWorld({
    furnish: async (home) => {
      const db = await open(home, before);
      db.exec("INSERT INTO people VALUES ('telegram', '77', 'trusted', 'Bea', 1, 'telegram:42')");
      db.close();
    },
  });
  await talk(world, 'Hello', 'Good morning.');
  expect(await world.assistant.call('pairList', {})).toMatchObject({ people: [{ id: '77', name: 'Bea' }] });
  const copies = await readdir(join(world.home, 'backups'));
  expect(copies).toEqual([expect.stringContaining(String(NOW - 1))]);
});

test('a home that a newer version used works with this one and then with that again, if it only added to it', async () => {
  const newer = [
    ...journalMigrations,
    added('CREATE TABLE later (n INTEGER) STRICT'),
    added("ALTER TABLE inbound ADD COLUMN later TEXT NOT NULL DEFAULT 'new'"),
  ];
  await using world = await startWorld();
  await talk(world, 'My bicycle is green', 'A good colour.');

  await world.assistant[Symbol.asyncDispose]();
  // What a newer version may leave: columns and tables, entries of an unknown kind, settings.
  const tape = join(world.home, 'sessions', tapeName('telegram:42'));
  const config = join(world.home, 'config.json');
  const entry = { v: 1, id: '01KZZZZZZZZZZZZZZZZZZZZZZZ', at: 1, turn: null, kind: 'later', of: 'a newer version' };
  await appendFile(tape, `${JSON.stringify(entry)}\n`);
  await writeFile(config, (await readFile(config, 'utf8')).replace('{', '{"laterSetting": true, '));
  (await open(world.home, newer)).close();

  await world.restart();
  await talk(world, 'What colour is it?', 'Green.');
  expect(asked(world)).toContain('My bicycle is green');
  expect((await world.assistant.call('info', {})).warnings).toContainEqual(expect.stringContaining('laterSetting'));
  expect(await readFile(tape, 'utf8')).toContain(JSON.stringify(entry));
  await world.assistant[Symbol.asyncDispose]();
  // The newer version again.
  using db = await open(world.home, newer);
  expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: NOW + 2 });
  expect(db.prepare('SELECT count(*) AS n, min(later) AS later FROM inbound').get()).toEqual({ n: 2, later: 'new' });
  await world.restart();
});
