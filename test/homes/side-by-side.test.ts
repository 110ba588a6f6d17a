import { TABLES } from '../support/extensions.ts';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesAfter } from '../../src/host/homes/journal-tables.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { installSchema } from '../../src/host/homes/schema.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { inboundMessage } from '../support/inbound.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { digests, openCopy } from './world.ts';

const programs = postgresPrograms();
/** What the program before gateways were noted in the database ran at its start. */
const BEFORE = join(import.meta.dirname, 'schema-before.sql');
/** Each column that was ever there, with its type. */
const KNOWN = join(import.meta.dirname, 'schema-known.txt');

/** Each column: table, name, type, whether it has to be given, its place in the key. */
const COLUMNS = `
SELECT format('%s.%s %s%s%s', c.table_name, c.column_name, c.data_type,
  CASE WHEN c.is_nullable = 'NO' AND c.column_default IS NULL THEN ' required' ELSE '' END,
  coalesce(' key ' || k.ordinal_position, '')) AS line
FROM information_schema.columns c
LEFT JOIN information_schema.key_column_usage k USING (table_schema, table_name, column_name)
WHERE c.table_schema = 'assistant' ORDER BY c.table_name COLLATE "C", c.column_name COLLATE "C"`;

const tableOf = (line: string): string => line.split('.', 1)[0] ?? '';

/** Of lines of a schema, what a program that knows these columns would not find, or be asked for in vain. */
function taken(known: readonly string[], now: readonly string[]): readonly string[] {
  const tables = new Set(known.map(tableOf));
  return [
    ...known.filter((line) => !now.includes(line)).map((line) => `is gone: ${line}`),
    ...now
      .filter((line) => !known.includes(line) && tables.has(tableOf(line)) && line.includes(' required'))
      .map((line) => `has to be given: ${line}`),
  ];
}

describeWith('PostgreSQL')('two versions with one database', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  const install = async (postgres: Postgres): Promise<void> => {
    await installSchema(postgres, tablesAfter(journalMigrations, TABLES));
  };
  const installBefore = async (postgres: Postgres): Promise<void> => {
    await postgres.transaction([{ text: await readFile(BEFORE, 'utf8') }]);
  };
  const columns = async (postgres: Postgres): Promise<readonly string[]> =>
    (await postgres.query(COLUMNS)).map(({ line }) => String(line));

  /**
   * When something was added, `vitest run test/homes/side-by-side.test.ts --update=true` notes it. What is noted must never go: programs of
   * another version work with it.
   */
  test('find every column that was ever there, with its type, and never one that an earlier version does not fill', async () => {
    await using postgres = await Postgres.open(await server.database(), { clock: systemClock });
    await install(postgres);
    const now = await columns(postgres);
    const known = (await readFile(KNOWN, 'utf8')).split('\n').filter(Boolean);
    expect(taken(known, now)).toEqual([]);
    await expect(`${now.join('\n')}\n`).toMatchFileSnapshot(KNOWN);
  });

  test.each([
    ['ALTER TABLE assistant.homes DROP COLUMN written_at', 'is gone: homes.written_at'],
    ['ALTER TABLE assistant.homes RENAME COLUMN kept_by TO had_by', 'is gone: homes.kept_by text'],
    ['ALTER TABLE assistant.files ALTER COLUMN size TYPE integer', 'is gone: files.size bigint'],
    ['ALTER TABLE assistant.gone ADD COLUMN why text NOT NULL', 'has to be given: gone.why text required'],
    ['ALTER TABLE assistant.homes ALTER COLUMN written_at SET NOT NULL', 'has to be given: homes.written_at'],
    ['DROP TABLE assistant.chunks', 'is gone: chunks.bytes bytea required'],
  ])('would notice: %s', async (change, noticed) => {
    await using postgres = await Postgres.open(await server.database(), { clock: systemClock });
    await install(postgres);
    const known = await columns(postgres);
    await postgres.query(change);
    expect(taken(known, await columns(postgres)).join('\n')).toContain(noticed);
  });

  test('come to the same tables in both orders, again and again', async () => {
    const after = async (...steps: readonly ((postgres: Postgres) => Promise<void>)[]): Promise<readonly string[]> => {
      await using postgres = await Postgres.open(await server.database(), { clock: systemClock });
      for (const step of steps) await step(postgres);
      return await columns(postgres);
    };
    const fresh = await after(install);
    expect(await after(installBefore, install)).toEqual(fresh);
    expect(await after(install, installBefore)).toEqual(fresh);
    expect(await after(installBefore, install, installBefore)).toEqual(fresh);
  });

  test('keep a home of this version in tables of the earlier one, which starts in between', async () => {
    const url = await server.database();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    await installBefore(postgres);
    await using folder = await tempFolder();
    for (const id of ['one', 'two']) {
      {
        await using copy = await openCopy(url, folder.path);
        await copy.journal.inbox.accept([inboundMessage({ id, externalId: `m:${id}`, text: id })]);
      }
      await installBefore(postgres);
      const { here, there } = await digests(url, folder.path);
      expect(there).toEqual(here);
    }
    expect(await postgres.query('SELECT 1 FROM assistant.journal_inbound')).toHaveLength(2);
  });
});
