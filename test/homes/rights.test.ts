import { TABLES } from '../support/extensions.ts';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesAfter } from '../../src/host/homes/journal-tables.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { installSchema } from '../../src/host/homes/schema.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { errorMessage } from '../../src/core/util/errors.ts';
import { CommandLine } from '../cli/command-line.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

const programs = postgresPrograms();
const PAGE = fileURLToPath(new URL('../../docs/several-machines.md', import.meta.url));

/** The statements of the page's block of SQL that has these words. */
async function statements(words: string): Promise<readonly string[]> {
  const blocks = [...(await readFile(PAGE, 'utf8')).matchAll(/^```sql\n(?<sql>[\s\S]*?)^```$/gmu)];
  const block = blocks.map(({ groups }) => groups?.['sql'] ?? '').find((sql) => sql.includes(words));
  return (block ?? '').split(';\n').filter((one) => one.trim() !== '');
}

describeWith('PostgreSQL')('the rights of a gateway in PostgreSQL', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
    await using postgres = await Postgres.open(await server.database(), { clock: systemClock });
    for (const role of ['keeper', 'plain', 'stranger']) await postgres.query(`CREATE ROLE ${role} LOGIN`);
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  const as = (url: string, role: string): string => url.replace('assistant@', `${role}@`);
  async function sql(url: string, ...texts: readonly string[]): Promise<void> {
    await using postgres = await Postgres.open(url, { clock: systemClock });
    for (const text of texts) await postgres.query(text);
  }
  const install = async (url: string): Promise<string> => {
    await using postgres = await Postgres.open(url, { clock: systemClock });
    return await installSchema(postgres, tablesAfter(journalMigrations, TABLES)).catch(errorMessage);
  };

  test('are enough as the page gives them: it runs turns, is taken over, and the home moves out and in', async () => {
    const url = await server.database();
    await sql(url, 'CREATE SCHEMA assistant AUTHORIZATION keeper', 'CREATE TABLE public.other AS SELECT 1 AS n');
    await install(as(url, 'keeper'));
    await sql(as(url, 'keeper'), ...(await statements('TO plain')));
    const store = as(url, 'plain');
    await using world = await startWorld();
    await world.assistant[Symbol.asyncDispose]();
    const line = new CommandLine();
    expect(await line.run('store', 'migrate', '--to', store, '--home', world.home)).toBe(0);
    await world.restart();
    world.model.reply('hello there');
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).includes('hello there'));
    const other = join(world.home, '..', 'other', 'home');
    await mkdir(other, { recursive: true, mode: 0o700 });
    await copyFile(join(world.home, 'config.json'), join(other, 'config.json'));
    await world.restart(other);
    world.model.reply('hello again');
    world.telegram.userSays(OWNER, 'and here?');
    await waitFor(() => chatOf(world).includes('hello again'));
    await world.assistant[Symbol.asyncDispose]();
    expect(await line.run('store', 'migrate', '--to', 'local', '--home', other)).toBe(0);
    await sql(as(url, 'keeper'), 'CREATE TABLE assistant.later (n int)');
    await sql(store, 'INSERT INTO assistant.later VALUES (1)', 'DELETE FROM assistant.later');
    await expect(sql(store, 'SELECT n FROM public.other')).rejects.toThrow('permission denied for table other');
    await expect(sql(store, 'CREATE TABLE assistant.mine (n int)')).rejects.toThrow('permission denied for schema');
    await expect(sql(store, 'DROP TABLE assistant.homes')).rejects.toThrow('must be owner of table homes');
  });

  test('of the owner of the schema are enough to make its tables, in a database where it may make nothing else', async () => {
    const url = await server.database();
    await sql(url, 'CREATE SCHEMA assistant AUTHORIZATION keeper');
    expect(await install(as(url, 'keeper'))).toMatch(/^[\da-f-]{36}$/u);
  });

  test('that are missing are named with the statement that gives them', async () => {
    const url = await server.database();
    expect(await install(as(url, 'stranger'))).toContain(
      'Let an administrator run in this database: CREATE SCHEMA assistant AUTHORIZATION "stranger"',
    );
    await install(url);
    const missing = await install(as(url, 'stranger'));
    expect(missing).toContain('permission denied for schema assistant. Let the owner run: ');
    await sql(url, missing.split('Let the owner run: ')[1] ?? '');
    const then = await install(as(url, 'stranger'));
    expect(then).toContain('Let the owner run: GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES');
    await sql(url, then.split('Let the owner run: ')[1] ?? '');
    expect(await install(as(url, 'stranger'))).toMatch(/^[\da-f-]{36}$/u);
    await sql(url, 'DELETE FROM assistant.installed');
    expect(await install(as(url, 'stranger'))).toContain('Start a gateway of this version once with that user');
  });
});
