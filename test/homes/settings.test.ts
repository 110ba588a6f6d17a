import { chmod, mkdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { startWorld } from '../support/world.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { openCopy } from './world.ts';

const programs = postgresPrograms();

describeWith('PostgreSQL')('files of a home that PostgreSQL keeps', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  const settings = async (folder: string, text: string): Promise<void> => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'config.json'), text, { mode: 0o600 });
  };
  const settingsIn = (folder: string): Promise<string> => readFile(join(folder, 'config.json'), 'utf8');
  const stored = async (postgres: Postgres): Promise<string> => {
    const [row] = await postgres.query(
      `SELECT c.bytes FROM assistant.files AS f JOIN assistant.chunks AS c ON c.home = f.home AND c.hash = f.chunks[1]
       WHERE f.path = 'config.json'`,
    );
    return String(row?.['bytes']);
  };

  test('are its settings too, as they are written: a gateway of one home sends its own and keeps them', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const [one, two] = [join(folder.path, 'one'), join(folder.path, 'two')];
    await settings(one, '{ "a": "${SECRET}" } // one');
    await settings(two, '{ "b": "file:key" } // two');
    await (await openCopy(url, one))[Symbol.asyncDispose]();
    expect(await stored(postgres)).toBe('{ "a": "${SECRET}" } // one');
    await (await openCopy(url, two))[Symbol.asyncDispose]();
    expect(await settingsIn(two)).toBe('{ "b": "file:key" } // two');
    expect(await stored(postgres)).toBe('{ "b": "file:key" } // two');
    await (await openCopy(url, one))[Symbol.asyncDispose]();
    expect(await settingsIn(one)).toBe('{ "a": "${SECRET}" } // one');
    expect(await stored(postgres)).toBe('{ "a": "${SECRET}" } // one');
  });

  test('bring the settings to a gateway of many homes, closed to others, also over older ones', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const [one, copy] = [join(folder.path, 'one'), join(folder.path, 'copy')];
    await settings(one, '{ "of": "one" }');
    await (await openCopy(url, one))[Symbol.asyncDispose]();
    await settings(copy, '{ "of": "long ago" }');
    await chmod(join(copy, 'config.json'), 0o644);
    {
      await using opened = await openCopy(url, copy, { config: 'stored' });
      expect(await settingsIn(copy)).toBe('{ "of": "one" }');
      expect((await stat(join(copy, 'config.json'))).mode & 0o777).toBe(0o600);
      await settings(copy, '{ "of": "the copy" }');
      opened.home.files.touched(join(copy, 'config.json'));
    }
    await using postgres = await Postgres.open(url, { clock: systemClock });
    expect(await stored(postgres)).toBe('{ "of": "the copy" }');
  });

  test('without settings run nowhere but in the folder that they come from', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await (await openCopy(url, join(folder.path, 'one')))[Symbol.asyncDispose]();
    const opening = openCopy(url, join(folder.path, 'copy'), { config: 'stored' });
    await expect(opening).rejects.toMatchObject({ code: 'home-without-settings' });
  });

  test('are sent when a person changes the settings in an editor while the assistant runs', async () => {
    const url = await server.database();
    await using world = await startWorld({ config: { store: url } });
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const before = await settingsIn(world.home);
    await waitFor(async () => (await stored(postgres)) === before);
    await writeFile(join(world.home, 'config.json'), `${before}\n\n`);
    await waitFor(async () => (await stored(postgres)) === `${before}\n\n`, { timeoutMs: 20_000 });
  });

  test('leave no pieces behind while one gateway runs the home, and lose none that a list names', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using other = await tempFolder();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const at = join(folder.path, 'workspace', 'large');
    const contents = [randomBytes(600_000), randomBytes(300_000), randomBytes(900_000)];
    await mkdir(join(folder.path, 'workspace'), { recursive: true });
    const counts = async (): Promise<unknown> =>
      (
        await postgres.query(`SELECT (SELECT count(*) FROM assistant.chunks) AS chunks,
          (SELECT count(DISTINCT hash) FROM assistant.files, unnest(chunks) AS hash) AS named`)
      )[0];
    const last = contents[0] ?? Buffer.alloc(0);
    {
      await using copy = await openCopy(url, folder.path);
      const { home } = copy;
      for (const content of [...contents, ...contents, last]) {
        await writeFile(at, content);
        home.files.touched('workspace/large');
        await home.writer.look();
      }
      expect(await counts()).toEqual({ chunks: 9, named: 3 });
      home.files.touched('');
      await home.writer.look();
      expect(await counts()).toEqual({ chunks: 3, named: 3 });
      // What was removed is sent again when a file has it again, also within one transaction.
      for (const content of [contents[1] ?? last, last]) {
        await writeFile(at, content);
        home.files.touched('');
        await home.writer.look();
      }
      await rm(at);
      home.files.touched('');
      void home.writer.look();
      await writeFile(at, last);
      home.files.touched('');
      await home.writer.look();
      expect(await counts()).toEqual({ chunks: 3, named: 3 });
    }
    await using _home = await openCopy(url, other.path);
    expect(await readFile(join(other.path, 'workspace', 'large'))).toEqual(last);
  });

  test('cost no transaction when a look finds none changed', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await mkdir(join(folder.path, 'workspace'), { recursive: true });
    const at = join(folder.path, 'workspace', 'note');
    await writeFile(at, 'one');
    await using copy = await openCopy(url, folder.path);
    const { home } = copy;
    await home.writer.written();
    const { transactions } = home.writer.counts;
    for (let n = 0; n < 5; n += 1) {
      home.files.touched('');
      await home.writer.look();
    }
    expect(home.writer.counts.transactions).toBe(transactions);
    await writeFile(at, 'two');
    await utimes(at, 1, 1);
    home.files.touched('');
    await home.writer.look();
    expect(home.writer.counts.transactions).toBe(transactions + 1);
  });
});
