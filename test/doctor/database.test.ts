import { TABLES } from '../support/extensions.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesAfter } from '../../src/host/homes/journal-tables.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { installSchema } from '../../src/host/homes/schema.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { startPooler, startTcp } from '../support/between-postgres.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { doctor, faults, furnishedHome, type Report, type Row } from './doctor-home.ts';

const programs = postgresPrograms();

/** What the doctor says of the database of a home with this address. */
async function rowsOf(store: string): Promise<Readonly<Record<string, Row>>> {
  const { line } = await furnishedHome({ store });
  return byId(await doctor(line));
}

function byId({ checks }: Report): Readonly<Record<string, Row>> {
  return Object.fromEntries(checks.filter(({ id }) => id.startsWith('database.')).map((row) => [row.id, row]));
}

/** Runs statements in the database of an address. */
async function sql(url: string, ...texts: readonly string[]): Promise<void> {
  await using postgres = await Postgres.open(url, { clock: systemClock });
  for (const text of texts) await postgres.query(text);
}

async function install(url: string): Promise<void> {
  await using postgres = await Postgres.open(url, { clock: systemClock });
  await installSchema(postgres, tablesAfter(journalMigrations, TABLES));
}

const as = (url: string, user: string): string => url.replace('assistant@', `${user}@`);

test('assistant doctor says nothing of a database where the setting store is not set, not even offline', async () => {
  const { line } = await furnishedHome();
  expect(byId(await doctor(line))).toEqual({});
  expect(byId(await doctor(line, '--offline'))).toEqual({});
});

describeWith('PostgreSQL')('assistant doctor looks at the database of the setting store', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '', { durable: true });
    await sql(await server.database(), 'CREATE ROLE plain LOGIN', 'CREATE ROLE hasty LOGIN SUPERUSER');
    await sql(await server.database(), 'ALTER ROLE hasty SET synchronous_commit = off');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('and raises no alarm where it is well, says what survives, and what each turn waits for', async () => {
    const { line } = await furnishedHome({ store: await server.database() });
    const report = await doctor(line);
    expect(faults(report).filter(({ id }) => id.startsWith('database.'))).toEqual([]);
    expect(Object.fromEntries(Object.values(byId(report)).map(({ id, state }) => [id, state]))).toMatchObject({
      'database.address': 'ok',
      'database.connects': 'ok',
      'database.version': 'ok',
      'database.tls': 'ok',
      'database.rights': 'ok',
      'database.pooler': 'ok',
      'database.clock': 'ok',
      'database.durable': 'note',
    });
    const rows = byId(report);
    expect(rows['database.connects']?.evidence).toMatch(/^PostgreSQL 1\d\.\d+ at \/.+ answered after [\d.]+ ms\.$/u);
    expect(rows['database.commit']?.evidence).toMatch(
      /^A commit takes [\d.]+ ms, and each turn waits for about 4 of these: [\d.]+ ms\.$/u,
    );
    expect(rows['database.durable']?.evidence).toContain('not the loss of that disk');
    expect(rows['database.rights']?.evidence).toBe('The first gateway makes the tables of homes there.');
  });

  test.each([
    [
      'postgres://assistant@nowhere.invalid/x',
      'database.address',
      'names nowhere.invalid, and no such machine is known',
    ],
    [
      'postgres://assistant@/x?host=%2Fnowhere',
      'database.address',
      'the socket of port 5432 in /nowhere, and there is none',
    ],
    ['postgres://assistant:secret@127.0.0.1:9/x', 'database.connects', 'ECONNREFUSED'],
  ])('and says of %s what is wrong with it, without the password', async (store, id, words) => {
    const rows = await rowsOf(store);
    expect(rows[id]).toMatchObject({ state: 'failed', evidence: expect.stringContaining(words) });
    expect(rows[id]?.remedy).not.toBeNull();
    expect(rows['database.rights']?.state).toBe('skipped');
    expect(JSON.stringify(rows)).not.toMatch(/cret/u);
  });

  test('and finds a database and a user that are not there', async () => {
    const url = await server.database();
    const noDatabase = await rowsOf(url.replace(/test_\d+/u, 'nothing'));
    expect(noDatabase['database.connects']).toMatchObject({
      state: 'failed',
      evidence: expect.stringContaining('has no database nothing'),
      remedy: 'Make it, as a user who may: CREATE DATABASE nothing OWNER assistant',
    });
    const noUser = await rowsOf(as(url, 'nobody'));
    expect(noUser['database.connects']?.evidence).toContain('does not let the user nobody in');
  });

  test('and says which rights are missing, and the statement that gives them', async () => {
    const url = await server.database();
    const rights = async (): Promise<Row | undefined> => (await rowsOf(as(url, 'plain')))['database.rights'];
    expect(await rights()).toMatchObject({ state: 'failed', evidence: expect.stringContaining('may not make them') });
    await install(url);
    const locked = await rights();
    expect(locked).toMatchObject({
      state: 'failed',
      evidence: 'The user plain may not read and write the schema assistant.',
    });
    await sql(url, ...(locked?.remedy ?? '').replace(/^As assistant: /u, '').split('; '));
    expect(await rights()).toMatchObject({
      state: 'ok',
      evidence: 'Its user may read and write all that a home needs.',
    });
    await sql(url, 'REVOKE DELETE ON assistant.gone FROM plain');
    expect((await rights())?.evidence).toBe('The user plain may not read and write assistant.gone.');
    await sql(url, 'GRANT DELETE ON assistant.gone TO plain', 'DELETE FROM assistant.installed');
    expect(await rights()).toMatchObject({
      state: 'failed',
      evidence: expect.stringContaining('needs tables or columns that the database does not have yet'),
      remedy: expect.stringContaining('with the user assistant in the address'),
    });
    expect((await rowsOf(url))['database.rights']).toMatchObject({
      state: 'ok',
      evidence: expect.stringContaining('The next start of a gateway of this version adds'),
    });
  });

  test('and finds a server that takes no writes', async () => {
    const url = await server.database();
    await sql(url, `ALTER DATABASE ${url.match(/test_\d+/u)?.[0] ?? ''} SET default_transaction_read_only = on`);
    const rows = await rowsOf(url);
    expect(rows['database.rights']).toMatchObject({
      state: 'failed',
      evidence: expect.stringContaining('takes no writes'),
    });
    expect(rows['database.commit']?.state).toBe('skipped');
  });

  test('and warns of a connection that leaves the machine without encryption', async () => {
    await using tcp = await startTcp(await server.database());
    expect((await rowsOf(tcp.url))['database.tls']).toMatchObject({
      state: 'warning',
      remedy: expect.stringContaining('sslmode=verify-full'),
    });
  });

  test('and warns of a server so far away that each turn waits for seconds', async () => {
    await using tcp = await startTcp(await server.database(), { delayMs: 300 });
    const row = (await rowsOf(tcp.url))['database.commit'];
    expect(row).toMatchObject({ state: 'warning', evidence: expect.stringMatching(/^A commit takes 3\d\d ms/u) });
  });

  test('and finds a pooler in transaction mode', async () => {
    await using folder = await tempFolder();
    await using pooler = await startPooler(await server.database(), folder.path);
    expect((await rowsOf(pooler.url))['database.pooler']).toMatchObject({
      state: 'failed',
      remedy: expect.stringContaining('pool_mode = session'),
    });
  });

  test('and warns of a clock that is further off than a lease allows for', async () => {
    const { line } = await furnishedHome({ store: await server.database() });
    line.clock = Object.create(systemClock, { now: { value: () => systemClock.now() - 20_000 } }) as typeof systemClock;
    expect(byId(await doctor(line))['database.clock']).toMatchObject({
      state: 'warning',
      evidence: expect.stringMatching(
        /^The clock of this machine is 20 s behind that of the database, and a lease allows for 3000 ms/u,
      ),
    });
  });

  test('and warns where a commit does not wait for the disk', async () => {
    const url = await server.database();
    expect((await rowsOf(as(url, 'hasty')))['database.durable']).toMatchObject({
      state: 'warning',
      remedy: 'ALTER ROLE "hasty" SET synchronous_commit = on',
    });
    await using careless = await startPostgres(programs ?? '');
    expect((await rowsOf(await careless.database()))['database.durable']).toMatchObject({
      state: 'warning',
      evidence: expect.stringContaining('fsync is off'),
    });
  });

  test('and says so within its deadline when a commit waits for a standby that is not there, or the server is frozen', async () => {
    await using other = await startPostgres(programs ?? '');
    const url = await other.database();
    await sql(url, "ALTER SYSTEM SET synchronous_standby_names = 'second'", 'SELECT pg_reload_conf()');
    expect((await rowsOf(url))['database.commit']).toMatchObject({
      state: 'failed',
      evidence: expect.stringContaining('The server waits for a standby (synchronous_standby_names: second)'),
    });
    other.freeze();
    try {
      const began = performance.now();
      const rows = await rowsOf(url);
      expect(rows['database.connects']).toMatchObject({
        state: 'failed',
        evidence: expect.stringContaining('no answer within 4 s'),
      });
      expect(performance.now() - began).toBeLessThan(12_000);
    } finally {
      other.thaw();
    }
  });
});
