import { existsSync } from 'node:fs';
import { appendFile, copyFile, cp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { plainTurn } from '../session/tapes.ts';
import { inboundMessage } from '../support/inbound.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { recordingLog } from '../support/recording-log.ts';
import { tempFolder } from '../support/temp.ts';
import { startMachines } from './machines-world.ts';
import { startProxy } from './proxy.ts';
import { digests, openCopy, type Copy } from './world.ts';

const programs = postgresPrograms();
const SEAL = 'store-copy.json';

async function says(copy: Copy, id: string): Promise<void> {
  await copy.journal.inbox.accept([inboundMessage({ id, externalId: `m:${id}`, text: 'a question' })]);
}

/** A home with a journal, a tape, and files of both kinds. */
async function makeHome(url: string, folder: string): Promise<void> {
  await using copy = await openCopy(url, folder);
  await writeFile(join(folder, 'workspace', 'note.txt'), 'first');
  await writeFile(join(folder, 'audit.jsonl'), '{"one":1}\n');
  copy.home.files.touched('');
  for (let n = 0; n < 20; n += 1) await says(copy, `m${n}`);
  const session = await copy.sessions.open('k');
  await session.append(plainTurn('t1', 'a question', 'an answer'));
}

describeWith('PostgreSQL')('a copy of a home that is opened again', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('is not compared when nothing changed since it was closed: no table, tape or file is hashed, and little is read', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using other = await tempFolder();
    await using between = await tempFolder();
    await makeHome(url, folder.path);
    {
      await using proxy = await startProxy(url, between.path);
      await using copy = await openCopy(proxy.url, folder.path);
      expect(copy.home.brought).toBe('unchanged');
      expect(copy.home.fetched).toEqual({ files: 0, bytes: 0 });
      expect(proxy.sent('sha256(')).toBe(0);
      expect(proxy.sent('count(*) AS rows')).toBe(0);
      expect(proxy.answered).toBeLessThan(8 * 1_024);
      // What changes from now on is sent as ever.
      await writeFile(join(folder.path, 'workspace', 'note.txt'), 'second');
      await appendFile(join(folder.path, 'audit.jsonl'), '{"two":2}\n');
      copy.home.files.touched('');
      await says(copy, 'after');
      await (await copy.sessions.open('k')).append(plainTurn('t2', 'a question', 'an answer'));
    }
    const { here, there } = await digests(url, folder.path);
    expect(there).toEqual(here);
    await using copy = await openCopy(url, other.path);
    expect(copy.home.brought).toBe('rebuilt');
    expect(copy.journal.messageCounts().in).toBe(21);
    for (const path of ['workspace/note.txt', 'audit.jsonl', 'sessions/k.jsonl']) {
      expect(await readFile(join(other.path, path), 'utf8')).toBe(await readFile(join(folder.path, path), 'utf8'));
    }
  });

  test.each<[string, (folder: string) => Promise<void>]>([
    [
      'a row of the journal',
      async (folder) => {
        using db = new DatabaseSync(join(folder, 'state.db'));
        db.exec("UPDATE inbound SET external_id = 'changed' WHERE id = 'm7'");
      },
    ],
    [
      'bytes of a conversation',
      async (folder) => {
        const path = join(folder, 'sessions', 'k.jsonl');
        await writeFile(path, (await readFile(path, 'utf8')).replace('an answer', 'AN ANSWER'));
      },
    ],
    ['bytes of a file', (folder) => writeFile(join(folder, 'workspace', 'note.txt'), 'FIRST')],
    ['a line of a file that grows', (folder) => writeFile(join(folder, 'audit.jsonl'), '{"one":2}\n')],
    ['a file more', (folder) => writeFile(join(folder, 'workspace', 'more.txt'), 'more')],
    ['a conversation more', (folder) => writeFile(join(folder, 'sessions', 'l.jsonl'), '')],
    ['a file less', (folder) => rm(join(folder, 'workspace', 'note.txt'))],
    ['a conversation less', (folder) => rm(join(folder, 'sessions', 'k.jsonl'))],
  ])('is made what the database has when it was changed meanwhile: %s', async (_, change) => {
    const url = await server.database();
    await using folder = await tempFolder();
    await makeHome(url, folder.path);
    const tape = await readFile(join(folder.path, 'sessions', 'k.jsonl'), 'utf8');
    await change(folder.path);
    {
      await using copy = await openCopy(url, folder.path);
      expect(copy.home.brought).not.toBe('unchanged');
    }
    const { here, there } = await digests(url, folder.path);
    expect(there).toEqual(here);
    expect(await readFile(join(folder.path, 'sessions', 'k.jsonl'), 'utf8')).toBe(tape);
    expect(await readFile(join(folder.path, 'workspace', 'note.txt'), 'utf8')).toBe('first');
    expect(await readFile(join(folder.path, 'audit.jsonl'), 'utf8')).toBe('{"one":1}\n');
    expect(await readdir(join(folder.path, 'workspace'))).toEqual(['note.txt']);
    expect(await readdir(join(folder.path, 'sessions'))).toEqual(['k.jsonl']);
  });

  test.each<[string, (folder: string, postgres: Postgres) => Promise<unknown>]>([
    [
      'its journal is another file, as after a restore',
      async (folder) => {
        await copyFile(join(folder, 'state.db'), join(folder, 'restored'));
        await rename(join(folder, 'restored'), join(folder, 'state.db'));
      },
    ],
    [
      'the database was put back to another state that has as many transactions',
      (_, postgres) => postgres.query("UPDATE assistant.homes SET written_at = written_at + interval '1 microsecond'"),
    ],
    ['what is noted of it cannot be read', (folder) => writeFile(join(folder, SEAL), '{"boot"')],
  ])('is compared when %s', async (_, change) => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    await makeHome(url, folder.path);
    await change(folder.path, postgres);
    {
      await using copy = await openCopy(url, folder.path);
      expect(copy.home.brought).toBe('caught-up');
    }
    await using copy = await openCopy(url, folder.path);
    expect(copy.home.brought).toBe('unchanged');
  });

  test('is rebuilt when the machine was started again, because a copy is not synced', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await makeHome(url, folder.path);
    for (const brought of ['rebuilt', 'unchanged']) {
      await using copy = await openCopy(url, folder.path, { boot: 'another' });
      expect(copy.home.brought).toBe(brought);
      expect(copy.journal.messageCounts().in).toBe(20);
    }
    // One that was not rebuilt to its end is still one of the boot before.
    await using between = await tempFolder();
    await using proxy = await startProxy(url, between.path);
    const stalled = proxy.stallBefore('SELECT sequences');
    const opening = openCopy(proxy.url, folder.path, { boot: 'a third', leaseMs: 500 });
    await stalled;
    expect(JSON.parse(await readFile(join(folder.path, 'store.json'), 'utf8'))).toMatchObject({ boot: 'another' });
    proxy.mend();
    await using copy = await opening;
    expect(copy.home.brought).toBe('rebuilt');
    expect(JSON.parse(await readFile(join(folder.path, 'store.json'), 'utf8'))).toMatchObject({ boot: 'a third' });
  });

  test('is compared when its gateway crashed', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await makeHome(url, folder.path);
    await using left = await tempFolder();
    {
      await using copy = await openCopy(url, folder.path);
      expect(copy.home.brought).toBe('unchanged');
      expect(existsSync(join(folder.path, SEAL))).toBe(false);
      await cp(folder.path, left.path, { recursive: true });
    }
    await using copy = await openCopy(url, left.path);
    expect(copy.home.brought).not.toBe('unchanged');
  });

  test('is not compared after a whole assistant ran in it, either', async () => {
    await using world = await startMachines(await server.database(), ['ada']);
    const log = recordingLog();
    for (const said of ['said-one', 'said-two']) {
      const machine = await world.machine('a', { log });
      await machine.runs(1);
      await world.asks('ada', said, `re: ${said}`);
      await machine.stop();
    }
    const opened = log.lines.filter(({ message }) => message === 'homes: opened');
    expect(opened.map(({ fields }) => fields['journal'])).toEqual(['rebuilt', 'unchanged']);
  });

  test('has what another gateway wrote meanwhile', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using other = await tempFolder();
    await makeHome(url, folder.path);
    {
      await using copy = await openCopy(url, other.path);
      await says(copy, 'elsewhere');
    }
    await using copy = await openCopy(url, folder.path);
    expect(copy.home.brought).toBe('caught-up');
    expect(copy.journal.messageCounts().in).toBe(21);
  });
});
