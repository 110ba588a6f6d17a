import { TABLES } from '../support/extensions.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesAfter } from '../../src/host/homes/journal-tables.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { installSchema } from '../../src/host/homes/schema.ts';
import { TYPES } from '../../src/host/homes/stored-values.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';

const programs = postgresPrograms();
const tables = tablesAfter(journalMigrations, TABLES);

describeWith('PostgreSQL')('the schema in PostgreSQL', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  const open = async (): Promise<Postgres> => await Postgres.open(await server.database(), { clock: systemClock });

  test('has each table and column of the journal, with the same key and the type that matches', async () => {
    await using postgres = await open();
    await installSchema(postgres, tables);
    const columns = await postgres.query(
      `SELECT table_name, column_name, data_type FROM information_schema.columns
       WHERE table_schema = 'assistant' AND table_name LIKE 'journal\\_%' AND column_name NOT IN ('home', 'revision')`,
    );
    const keys = await postgres.query(
      `SELECT table_name, column_name FROM information_schema.key_column_usage
       WHERE table_schema = 'assistant' AND table_name LIKE 'journal\\_%' ORDER BY table_name, ordinal_position`,
    );
    const inPostgres = tables.map(({ name }) => ({
      name,
      columns: columns
        .filter((row) => row['table_name'] === `journal_${name}`)
        .map((row) => `${String(row['column_name'])} ${String(row['data_type'])}`)
        .toSorted(),
      key: keys.filter((row) => row['table_name'] === `journal_${name}`).map((row) => row['column_name']),
    }));
    const inSqlite = tables.map((table) => ({
      name: table.name,
      columns: table.columns.map(({ name, type }) => `${name} ${TYPES[type]}`).toSorted(),
      key: ['home', ...table.key],
    }));
    expect(inPostgres).toEqual(inSqlite);
    expect(new Set(columns.map((row) => row['table_name'])).size).toBe(tables.length);
  });

  test('is installed once by gateways that start together, and says which database it is', async () => {
    const url = await server.database();
    const start = async (): Promise<string> => {
      await using postgres = await Postgres.open(url, { clock: systemClock });
      return await installSchema(postgres, tables);
    };
    const ids = await Promise.all([start(), start(), start()]);
    expect(new Set(ids).size).toBe(1);
  });

  test('gains the columns of a later version, and an earlier one still works with it', async () => {
    await using postgres = await open();
    await installSchema(postgres, tables);
    await postgres.query(
      "INSERT INTO assistant.journal_people (home, revision, channel, user_id) VALUES ('h', 1, 'c', 'u')",
    );
    const later = tablesAfter(
      [
        ...journalMigrations,
        {
          additive: true,
          sql: "ALTER TABLE people ADD COLUMN later TEXT NOT NULL DEFAULT 'x'; CREATE TABLE later (n INTEGER PRIMARY KEY) STRICT",
        },
      ],
      TABLES,
    );
    await installSchema(postgres, later);
    await installSchema(postgres, tables);
    expect(await postgres.query('SELECT user_id, later FROM assistant.journal_people')).toEqual([
      { user_id: 'u', later: null },
    ]);
    expect(await postgres.query('SELECT n FROM assistant.journal_later')).toEqual([]);
  });

  test('needs no right to create tables once it is there', async () => {
    const url = await server.database();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const id = await installSchema(postgres, tables);
    await postgres.query('CREATE ROLE plain LOGIN');
    await postgres.query('GRANT USAGE ON SCHEMA assistant TO plain');
    await postgres.query('GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA assistant TO plain');
    await using plain = await Postgres.open(url.replace('assistant@', 'plain@'), { clock: systemClock });
    expect(await installSchema(plain, tables)).toBe(id);
  });
});
