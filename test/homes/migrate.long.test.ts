import { PROGRAM } from '../support/extensions.ts';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { moveHome } from '../../src/host/homes/move-home.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { openJournal } from '../../src/core/journal/journal.ts';
import { acquireHomeLock } from '../../src/core/storage/lock.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { CommandLine } from '../cli/command-line.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { inboundMessage } from '../support/inbound.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { digests, HOME, openCopy } from './world.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const programs = postgresPrograms();
const newId = createIds(systemClock, systemRandom);
const CONFIG = '{\n  // Mine.\n  "agent": { "model": "openai/a-model" } // the model\n}\n';

/** Takes messages into the journal of a folder while no gateway runs there. */
async function takesMessages(home: string, ids: readonly string[]): Promise<void> {
  using journal = await openJournal({ path: join(home, 'state.db'), backupPath: null, clock: systemClock, newId });
  const messages = ids.map((id) => inboundMessage({ id, externalId: `m:${id}`, text: `text of ${id}` }));
  await journal.inbox.accept(messages);
}

/** A home that is in its folder alone. */
async function makeHome(
  folder: string,
  { messages = 3, tapeBytes = 1_000 }: { readonly messages?: number; readonly tapeBytes?: number } = {},
): Promise<string> {
  const home = join(folder, HOME);
  await mkdir(join(home, 'sessions'), { recursive: true, mode: 0o700 });
  await mkdir(join(home, 'workspace'), { mode: 0o700 });
  await writeFile(join(home, 'config.json'), CONFIG, { mode: 0o600 });
  await takesMessages(
    home,
    Array.from({ length: messages }, (_, n) => `m${n}`),
  );
  await writeFile(join(home, 'sessions', 'long.jsonl'), pattern(tapeBytes));
  await writeFile(join(home, 'sessions', 'short.jsonl'), '{"kind":"x"}\n');
  await writeFile(join(home, 'workspace', 'plan.bin'), pattern(Math.ceil(tapeBytes / 2)));
  await symlink('plan.bin', join(home, 'workspace', 'link'));
  await writeFile(join(home, 'audit.jsonl'), '{"one":1}\n');
  return home;
}

/** Bytes that do not repeat in any piece. */
function pattern(size: number): Buffer {
  const bytes = Buffer.alloc(size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at);
  return bytes;
}

async function hashes(home: string): Promise<readonly string[]> {
  const paths = ['sessions/long.jsonl', 'sessions/short.jsonl', 'workspace/plan.bin', 'workspace/link', 'audit.jsonl'];
  return await Promise.all(
    paths.map(async (path) =>
      createHash('sha256')
        .update(await readFile(join(home, path)))
        .digest('hex'),
    ),
  );
}

const migrate = async (home: string, to: string, env: Readonly<Record<string, string>> = {}): Promise<CommandLine> => {
  const line = new CommandLine({ home, env });
  line.exits.push(await line.run('store', 'migrate', '--to', to));
  return line;
};

const config = (home: string): Promise<string> => readFile(join(home, 'config.json'), 'utf8');

describeWith('PostgreSQL')('assistant store migrate', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  const rows = async (url: string, text: string): Promise<number> => {
    await using postgres = await Postgres.open(url, { clock: systemClock });
    return (await postgres.query(text)).length;
  };
  const messagesIn = async (url: string, folder: string): Promise<number> => {
    await using copy = await openCopy(url, folder);
    return copy.journal.messageCounts().in;
  };

  test('moves a home into PostgreSQL: all of it, and the setting beside its comments', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using other = await tempFolder();
    const home = await makeHome(folder.path);
    const before = await hashes(home);
    const line = await migrate(home, url);
    expect(line.err).toBe('');
    expect(line.exits).toEqual([0]);
    expect(line.out).toMatch(
      /^The home alice is in postgres:.*: \d+ rows of the journal, 2 conversations and 4 files, /u,
    );
    expect(line.out).toContain('Start the assistant: ');
    expect(await config(home)).toBe(
      `{\n  // Mine.\n  "agent": { "model": "openai/a-model" }, // the model\n  "store": ${JSON.stringify(url)}\n}\n`,
    );
    const { here, there } = await digests(url, home);
    expect(there).toEqual(here);
    expect(await hashes(home)).toEqual(before);
    {
      await using copy = await openCopy(url, home);
      expect(copy.home.brought).toBe('caught-up');
    }
    await using copy = await openCopy(url, join(other.path, 'empty'));
    expect(copy.home.brought).toBe('rebuilt');
    expect(copy.journal.messageCounts().in).toBe(3);
    expect(await hashes(join(other.path, 'empty'))).toEqual(before);
  });

  test('moves a home that was set up and never started, and nothing from a folder that has none', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const home = join(folder.path, HOME);
    const setUp = new CommandLine({ home });
    expect(await setUp.run('init', '--yes', '--provider', 'demo')).toBe(0);
    const line = await migrate(home, url);
    expect(line.err).toBe('');
    expect(line.exits).toEqual([0]);
    await using _copy = await openCopy(url, join(folder.path, 'empty'));
    expect(await readFile(join(folder.path, 'empty', 'workspace', 'SOUL.md'), 'utf8')).toBe(
      await readFile(join(home, 'workspace', 'SOUL.md'), 'utf8'),
    );
    const nothing = join(folder.path, 'nothing');
    expect((await migrate(nothing, url)).err).toBe(`There is no home in ${nothing}. Name it with --home.\n`);
    expect(existsSync(nothing)).toBe(false);
  });

  test('says what it did as JSON, and that the home was there already', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const home = await makeHome(folder.path);
    const line = new CommandLine({ home });
    expect(await line.run('store', 'migrate', '--to', url, '--json')).toBe(0);
    expect(JSON.parse(line.out)).toMatchObject({ to: 'database', moved: true, store: url, conversations: 2, files: 4 });
    const again = await migrate(home, url);
    expect(again.out).toContain(`The home alice was in ${url} already.`);
    expect(again.exits).toEqual([0]);
  });

  test('moves it back with what was written meanwhile, and no gateway elsewhere runs it then', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using elsewhere = await tempFolder();
    const home = await makeHome(folder.path);
    const before = await hashes(home);
    await migrate(home, url);
    const other = join(elsewhere.path, HOME);
    await mkdir(other, { mode: 0o700 });
    await writeFile(join(other, 'config.json'), '{ "of": "the other machine" }');
    {
      await using copy = await openCopy(url, other);
      await copy.journal.inbox.accept([inboundMessage({ id: 'there', externalId: 'm:there', text: 'there' })]);
      await writeFile(join(other, 'workspace', 'new.txt'), 'new');
      copy.home.files.touched('workspace');
    }
    const line = await migrate(home, 'local');
    expect(line.err).toBe('');
    expect(line.out).toMatch(/^The home alice is in \S+alice: \d+ rows of the journal, 2 conversations and 5 files, /u);
    expect(await config(home)).toBe(CONFIG);
    expect(await hashes(home)).toEqual(before);
    expect(await readFile(join(home, 'workspace', 'new.txt'), 'utf8')).toBe('new');
    await expect(openCopy(url, other)).rejects.toMatchObject({ code: 'home-kept-by-folder' });
    await expect(openCopy(url, home)).rejects.toMatchObject({ code: 'home-kept-by-folder' });
    expect((await migrate(home, 'local')).out).toContain('The home is in its folder already');
    // What the folder has from now on is what goes into the database, and nothing of before.
    await takesMessages(home, ['here']);
    await rm(join(home, 'workspace', 'new.txt'));
    await rm(join(home, 'sessions', 'short.jsonl'));
    expect((await migrate(home, url)).exits).toEqual([0]);
    await using copy = await openCopy(url, other);
    expect(copy.journal.messageCounts().in).toBe(5);
    expect(existsSync(join(other, 'workspace', 'new.txt'))).toBe(false);
    expect(existsSync(join(other, 'sessions', 'short.jsonl'))).toBe(false);
  });

  test('killed anywhere on the way there and back, it goes on and ends right', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using elsewhere = await tempFolder();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const home = await makeHome(folder.path, { messages: 6_000, tapeBytes: 24_000_000 });
    const before = await hashes(home);
    const has = async (text: string): Promise<boolean> => {
      try {
        return (await postgres.query(text)).length > 0;
      } catch {
        return false;
      }
    };
    const parts = 1 + Math.floor(Math.random() * 4);
    const chunks = 1 + Math.floor(Math.random() * 30);
    const kills: readonly (() => Promise<boolean>)[] = [
      () => has('SELECT 1 FROM assistant.homes WHERE kept_by IS NOT NULL'),
      () => has(`SELECT 1 FROM assistant.tapes OFFSET ${parts}`),
      () => has(`SELECT 1 FROM assistant.chunks OFFSET ${chunks}`),
      () => has('SELECT 1 FROM assistant.journal_inbound'),
      async () => (await config(home)).includes('"store"'),
    ];
    const killed: boolean[] = [];
    for (const isThere of kills) killed.push(await killedWhen(home, url, isThere));
    // All but the last come long before its end.
    expect(killed.slice(0, 4)).toEqual([true, true, true, true]);
    // Between two attempts the folder is the home.
    const isMoved = await has('SELECT 1 FROM assistant.homes WHERE kept_by IS NULL AND schema > 0');
    if (!isMoved) await takesMessages(home, ['between']);
    const line = await migrate(home, url);
    expect(line.err).toBe('');
    const { here, there } = await digests(url, home);
    expect(there).toEqual(here);
    const messages = isMoved ? 6_000 : 6_001;
    expect(await messagesIn(url, join(elsewhere.path, 'a'))).toBe(messages);
    expect(await hashes(join(elsewhere.path, 'a'))).toEqual(before);

    const back = join(elsewhere.path, 'b', HOME);
    await mkdir(back, { recursive: true, mode: 0o700 });
    await writeFile(join(back, 'config.json'), await config(home));
    const backKills: readonly (() => Promise<boolean>)[] = [
      async () => existsSync(join(back, 'store.json')),
      async () => existsSync(join(back, 'sessions')),
      async () => existsSync(join(back, 'workspace')),
      async () => existsSync(join(back, 'state.db.rebuilding')),
      async () => existsSync(join(back, 'state.db')),
      () => has('SELECT 1 FROM assistant.homes WHERE kept_by IS NOT NULL'),
    ];
    const killedBack: boolean[] = [];
    for (const isThere of backKills) killedBack.push(await killedWhen(back, 'local', isThere));
    expect(killedBack.slice(0, 2)).toEqual([true, true]);
    expect((await migrate(back, 'local')).err).toBe('');
    expect(await config(back)).toBe(CONFIG);
    expect(await hashes(back)).toEqual(before);
    const after = await digests(url, back);
    expect(after.there).toEqual(after.here);
    expect(await has('SELECT 1 FROM assistant.homes WHERE kept_by IS NOT NULL')).toBe(true);
  });

  test('refuses a database that has another home of that name, and changes nothing', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using elsewhere = await tempFolder();
    await migrate(await makeHome(elsewhere.path, { messages: 7 }), url);
    const home = await makeHome(folder.path);
    const line = await migrate(home, url);
    expect(line.exits).toEqual([78]);
    expect(line.err).toContain('The database already has a home named alice, and');
    expect(await config(home)).toBe(CONFIG);
    expect(existsSync(join(home, 'store.json'))).toBe(false);
    expect(await messagesIn(url, join(elsewhere.path, HOME))).toBe(7);
    // One that was moved out into another folder is not overwritten either.
    await migrate(join(elsewhere.path, HOME), 'local');
    const later = await migrate(home, url);
    expect(later.exits).toEqual([78]);
    expect(later.err).toContain(`The home alice is in ${join(elsewhere.path, HOME)} on `);
    expect(await rows(url, 'SELECT 1 FROM assistant.journal_inbound')).toBe(7);
  });

  test('refuses while an assistant uses the folder, or a gateway elsewhere runs the home', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using elsewhere = await tempFolder();
    const home = await makeHome(folder.path);
    {
      using _lock = acquireHomeLock(join(home, 'lock'), { pid: process.pid, startedAt: 0 });
      const line = await migrate(home, url);
      expect(line.err).toContain(`This home is in use by process ${process.pid}`);
      expect(line.err).toContain('Stop that process');
      expect(await config(home)).toBe(CONFIG);
    }
    await migrate(home, url);
    const other = join(elsewhere.path, HOME);
    {
      await using _copy = await openCopy(url, other);
      const line = await migrate(home, 'local');
      expect(line.err).toMatch(/^The home alice is run by another gateway.* Stop the assistant on every machine/u);
      expect(await config(home)).toContain('"store"');
    }
    expect((await migrate(home, 'local')).exits).toEqual([0]);
  });

  test('says of an address that leads nowhere, and of missing rights, what is wrong without the password', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const home = await makeHome(folder.path);
    const nowhere = await migrate(home, 'postgres://assistant:s3cr%23t@127.0.0.1:1/none?sslmode=disable');
    expect(nowhere.exits).toEqual([1]);
    expect(nowhere.err).toContain('PostgreSQL cannot be reached: ');
    await using postgres = await Postgres.open(url, { clock: systemClock });
    await postgres.query('CREATE ROLE nobody_much LOGIN');
    const noRights = await migrate(home, url.replace('assistant@', 'nobody_much:s3cr%23t@'));
    expect(noRights.exits).toEqual([1]);
    expect(noRights.err).toContain('PostgreSQL refused: permission denied for database');
    for (const { err, out } of [nowhere, noRights]) expect(err + out).not.toMatch(/s3cr/u);
    expect(await config(home)).toBe(CONFIG);
    expect(existsSync(join(home, 'store.json'))).toBe(false);
    for (const wrong of ['mysql://host/db', 'file:', '${NOT_SET_ANYWHERE}']) {
      const line = await migrate(home, wrong);
      expect(line.exits[0]).toBeGreaterThan(1);
      expect(await config(home)).toBe(CONFIG);
    }
  });

  test('writes the name of a variable or of a file with the address, as it was given', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const home = await makeHome(folder.path);
    const secret = url.replace('assistant@', 'assistant:s3cret@');
    const line = await migrate(home, '${STORE_URL}', { STORE_URL: secret });
    expect(line.err).toBe('');
    expect(await config(home)).toContain('"store": "${STORE_URL}"');
    expect(line.out).not.toContain('s3cret');
    expect((await migrate(home, 'local', { STORE_URL: secret })).exits).toEqual([0]);
    await writeFile(join(home, 'address'), `${secret}\n`, { mode: 0o600 });
    const file = await migrate(home, 'file:address');
    expect(file.err).toBe('');
    expect(await config(home)).toMatch(/"store": \{\s*"file": "address"\s*\}/u);
    expect(await config(home)).not.toContain('s3cret');
  });

  test('moves nothing while config.json cannot be written', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const home = await makeHome(folder.path);
    // Beside so long a name there is no room for a temporary one, whoever asks.
    const real = join(folder.path, `${'c'.repeat(240)}.json`);
    await rename(join(home, 'config.json'), real);
    await symlink(real, join(home, 'config.json'));
    const line = await migrate(home, url);
    expect(line.exits).toEqual([1]);
    expect(line.err).toMatch(/config\.json cannot be written: .* Nothing was changed\. /u);
    expect(await config(home)).toBe(CONFIG);
    expect(await rows(url, "SELECT 1 FROM pg_namespace WHERE nspname = 'assistant'")).toBe(0);
    // By hand it can be set before, but not taken out.
    expect(line.err).toContain('or put the setting store into it yourself, and run this again');
    await writeFile(real, JSON.stringify({ store: url }));
    expect((await migrate(home, url)).out).toContain('The home alice is in ');
    const back = await migrate(home, 'local');
    expect(back.err).toMatch(/cannot be written: .* Nothing was changed\. Make it writable and run this again\.\n$/u);
    expect(await rows(url, 'SELECT 1 FROM assistant.homes WHERE kept_by IS NULL')).toBe(1);
  });

  test('that ends before the setting is written leaves the home to its folder: no gateway runs what the database has', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using elsewhere = await tempFolder();
    const home = await makeHome(folder.path);
    const steps: string[] = [];
    const moving = moveHome({
      program: PROGRAM,
      paths: homePaths(home),
      to: 'database',
      store: url,
      isConfigured: false,
      clock: systemClock,
      onStep: (text) => steps.push(text),
      switchOver: () => Promise.reject(new Error('no room')),
    });
    await expect(moving).rejects.toThrow('no room');
    expect(steps).toContain('Conversations are sent: 2 of 2');
    expect(steps.at(-1)).toBe('Both sides are compared');
    for (const place of [home, join(elsewhere.path, HOME)]) {
      await expect(openCopy(url, place)).rejects.toMatchObject({ code: 'home-kept-by-folder' });
    }
    await takesMessages(home, ['after']);
    expect((await migrate(home, url)).err).toBe('');
    expect(await messagesIn(url, join(elsewhere.path, HOME))).toBe(4);
  });

  test('ends while PostgreSQL is away, and goes on when it is back', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const home = await makeHome(folder.path, { tapeBytes: 40_000_000 });
    const moving = migrate(home, url);
    await waitFor(async () => (await rows(url, 'SELECT 1 FROM assistant.tapes')) > 0);
    await server.kill();
    const line = await moving;
    await server.start();
    expect(line.exits).toEqual([1]);
    expect(line.err).toContain('The home stays in the folder. Run this again');
    expect(await config(home)).toBe(CONFIG);
    expect((await migrate(home, url)).err).toBe('');
    const { here, there } = await digests(url, home);
    expect(there).toEqual(here);
  });
});

/** Runs it in a process of its own, which is killed as soon as this is so. Resolves when that has ended; false: it was done before. */
async function killedWhen(home: string, to: string, isSo: () => Promise<boolean>): Promise<boolean> {
  const child = spawn(process.execPath, [MAIN, 'store', 'migrate', '--to', to, '--home', home], {
    stdio: 'ignore',
    env: childEnvironment({ HOME: join(home, '..') }),
  });
  const ended = once(child, 'exit');
  await waitFor(async () => child.exitCode !== null || (await isSo()));
  child.kill('SIGKILL');
  await ended;
  return child.signalCode === 'SIGKILL';
}
