import { cp, mkdir, readFile, symlink, writeFile, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Leases } from '../../src/host/homes/lease.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { openDatabase } from '../../src/core/storage/open-database.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { plainTurn } from '../session/tapes.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { inboundMessage } from '../support/inbound.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { startProxy } from './proxy.ts';
import { digests, HOME, openCopy, openGateway, type Copy } from './world.ts';

const programs = postgresPrograms();

const message = (id: string, text = 'a question'): ReturnType<typeof inboundMessage> =>
  inboundMessage({ id, externalId: `m:${id}`, text });

async function says(copy: Copy, id: string, text?: string): Promise<void> {
  await copy.journal.inbox.accept([message(id, text)]);
}

const tapeOf = (folder: string): Promise<string> => readFile(join(folder, 'sessions', 'k.jsonl'), 'utf8');

describeWith('PostgreSQL')('a home that PostgreSQL keeps', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('is in PostgreSQL as it is in the folder, row by row and byte by byte', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    {
      await using copy = await openCopy(url, folder.path);
      await says(copy, 'one', 'with a NUL \0, a SUB \u001A and \u{1F600}');
      const session = await copy.sessions.open('k');
      await session.append(plainTurn('t1', 'a question', 'an answer'));
      await copy.journal.settings.setModel('k', 'some/model');
      await copy.journal.settings.setModel('k', null);
    }
    const { here, there } = await digests(url, folder.path);
    expect(there).toEqual(here);
    expect(here.find(({ table }) => table === 'inbound')?.rows).toBe(1);
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const [tape] = await postgres.query('SELECT string_agg(bytes, NULL ORDER BY at) AS bytes FROM assistant.tapes');
    expect(String(tape?.['bytes'])).toBe(await tapeOf(folder.path));
  });

  test('is rebuilt in an empty folder, and caught up in one that stands where an earlier owner left it', async () => {
    const url = await server.database();
    await using first = await tempFolder();
    await using second = await tempFolder();
    {
      await using copy = await openCopy(url, first.path);
      expect(copy.home.brought).toBe('new');
      await writeFile(join(first.path, 'workspace', 'note.txt'), 'first');
      await symlink('note.txt', join(first.path, 'workspace', 'link'));
      copy.home.files.touched('workspace');
      for (let n = 0; n < 50; n += 1) await says(copy, `a${n}`);
      await (await copy.sessions.open('k')).append(plainTurn('t1', 'a question', 'an answer'));
    }
    {
      await using copy = await openCopy(url, second.path);
      expect(copy.home.brought).toBe('rebuilt');
      expect(await readFile(join(second.path, 'workspace', 'link'), 'utf8')).toBe('first');
      expect(await tapeOf(second.path)).toBe(await tapeOf(first.path));
      await says(copy, 'b');
      await copy.journal.settings.setModel('k', 'some/model');
      await (await copy.sessions.open('k')).append(plainTurn('t2', 'another question', 'another answer'));
      await writeFile(join(second.path, 'workspace', 'note.txt'), 'second');
      await rm(join(second.path, 'workspace', 'link'));
      copy.home.files.touched('workspace');
    }
    {
      await using copy = await openCopy(url, first.path);
      expect(copy.home.brought).toBe('caught-up');
      expect(copy.journal.settings.model('k')).toBe('some/model');
      expect(copy.journal.messageCounts().in).toBe(51);
      expect(await tapeOf(first.path)).toBe(await tapeOf(second.path));
      expect(await readdir(join(first.path, 'workspace'))).toEqual(['note.txt']);
      expect(await readFile(join(first.path, 'workspace', 'note.txt'), 'utf8')).toBe('second');
    }
    const { here, there } = await digests(url, first.path);
    expect(there).toEqual(here);
  });

  test('is written at once when the write before has just become durable', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    // No timer fires, so a write that waits for one never ends.
    const frozen = { ...systemClock, timer: () => ({ [Symbol.dispose]: () => {} }) };
    await using copy = await openCopy(url, folder.path, { clock: frozen, leaseMs: 60_000 });
    for (let n = 0; n < 20; n += 1) {
      for (const part of ['a', 'b', 'c']) await says(copy, `m${n}${part}`);
    }
    expect(copy.home.writer.counts.transactions).toBeGreaterThanOrEqual(60);
  });

  test('has the end of a turn in the transaction of the commit that closes it, and before all that is durable after it', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using copy = await openCopy(url, folder.path);
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const session = await copy.sessions.open('k');
    await session.append([]);
    const { counts } = copy.home.writer;
    const before = counts.transactions;
    await session.append(plainTurn('t1', 'a question', 'an answer'), 'with-journal');
    await says(copy, 'one');
    expect(counts.transactions).toBe(before + 1);
    const [both] = await postgres.query(
      'SELECT (SELECT max(revision) FROM assistant.tapes) = max(revision) AS together FROM assistant.journal_inbound',
    );
    expect(both?.['together']).toBe(true);
    await session.append(plainTurn('t2', 'a question', 'another answer'), 'with-journal');
    await session.append([]);
    const [tape] = await postgres.query('SELECT string_agg(bytes, NULL ORDER BY at) AS bytes FROM assistant.tapes');
    expect(String(tape?.['bytes'])).toBe(await tapeOf(folder.path));
  });

  test('in which nothing changed is looked through without a write', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using copy = await openCopy(url, folder.path);
    const { writer, files } = copy.home;
    await writeFile(join(folder.path, 'workspace', 'note.txt'), 'first');
    files.touched('');
    await says(copy, 'one');
    await writer.written();
    const before = writer.counts.transactions;
    files.touched('');
    await writer.written();
    expect(writer.counts.transactions).toBe(before);
    await writeFile(join(folder.path, 'workspace', 'note.txt'), 'second');
    files.touched('');
    await writer.written();
    expect(writer.counts.transactions).toBe(before + 1);
  });

  test('takes over an existing home from its folder, all of it', async () => {
    const url = await server.database();
    await using other = await tempFolder();
    await using before = await tempFolder();
    await using after = await tempFolder();
    {
      // A home that another database kept is one of its own for this one.
      await using copy = await openCopy(await server.database(), before.path);
      for (let n = 0; n < 30; n += 1) await says(copy, `a${n}`);
      await (await copy.sessions.open('k')).append(plainTurn('t1', 'a question', 'an answer'));
      await writeFile(join(before.path, 'audit.jsonl'), '{"one":1}\n');
    }
    {
      await using copy = await openCopy(url, before.path);
      expect(copy.home.brought).toBe('new');
      expect(copy.journal.messageCounts().in).toBe(30);
    }
    {
      await using copy = await openCopy(url, after.path);
      expect(copy.home.brought).toBe('rebuilt');
      expect(await tapeOf(after.path)).toBe(await tapeOf(before.path));
      expect(await readFile(join(after.path, 'audit.jsonl'), 'utf8')).toBe('{"one":1}\n');
    }
    await mkdir(join(other.path, 'sessions'));
    await cp(join(after.path, 'state.db'), join(other.path, 'state.db'));
    await expect(openCopy(url, other.path)).rejects.toMatchObject({ code: 'home-foreign' });
  });

  test('remembers deleted rows for as long as the copies of the last epochs need them', async () => {
    const url = await server.database();
    await using first = await tempFolder();
    await using second = await tempFolder();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const remembered = async (upTo: unknown): Promise<number> =>
      (await postgres.query('SELECT 1 FROM assistant.gone WHERE revision <= $1', [upTo])).length;
    const changes = async (folder: string): Promise<string> => {
      await using copy = await openCopy(url, folder);
      await copy.journal.settings.setModel('k', 'some/model');
      await copy.journal.settings.setModel('k', null);
      await says(copy, String(copy.home.lease.epoch));
      return copy.home.brought;
    };
    expect(await changes(first.path)).toBe('new');
    expect(await changes(second.path)).toBe('rebuilt');
    expect(await changes(first.path)).toBe('caught-up');
    const [home] = await postgres.query('SELECT revision FROM assistant.homes');
    expect(await remembered(home?.['revision'])).toBeGreaterThan(0);
    await postgres.query('UPDATE assistant.homes SET epoch = epoch + 100');
    expect(await changes(second.path)).toBe('caught-up');
    expect(await remembered(home?.['revision'])).toBe(0);
    expect(await changes(first.path)).toBe('rebuilt');
  });

  test('waits for its turn while another gateway runs it', async () => {
    const url = await server.database();
    await using first = await tempFolder();
    await using second = await tempFolder();
    const copy = await openCopy(url, first.path, { leaseMs: 60_000 });
    await says(copy, 'a');
    let isOpen = false;
    const waiting = openCopy(url, second.path).then((opened) => {
      isOpen = true;
      return opened;
    });
    await says(copy, 'b');
    expect(isOpen).toBe(false);
    await copy[Symbol.asyncDispose]();
    await using next = await waiting;
    expect(next.journal.messageCounts().in).toBe(2);
  });

  test('stays this gateway’s when one write transaction takes longer than the lease', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using postgres = await Postgres.open(url, { clock: systemClock });
    await using copy = await openCopy(url, folder.path, { leaseMs: 1_500 });
    await says(copy, 'before');
    await postgres.transaction([
      {
        text: `CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(3); RETURN NEW; END';
          CREATE TRIGGER slow BEFORE INSERT ON assistant.tapes FOR EACH ROW EXECUTE FUNCTION slow()`,
      },
    ]);
    const rival = { postgres, owner: 'rival', clock: systemClock, log: silentLog, leaseMs: 1_500 };
    using other = new Leases({ ...rival, schema: journalMigrations.length });
    let isWritten = false;
    const bytes = Buffer.alloc(512 * 1024, 'x');
    const written = copy.home.tapes.write({ key: 'long', at: 0, bytes }, new AbortController().signal);
    void written.finally(() => (isWritten = true)).catch(() => {});
    const claims: unknown[] = [];
    await waitFor(async () => {
      claims.push(await other.claim(HOME));
      return isWritten && copy.home.lease.isHeld;
    });
    await written;
    expect(claims.filter((claim) => claim !== null)).toEqual([]);
  });

  test('is waited for through an outage of PostgreSQL that begins meanwhile', async () => {
    const url = await server.database();
    await using first = await tempFolder();
    await using second = await tempFolder();
    const copy = await openCopy(url, first.path, { leaseMs: 60_000 });
    await says(copy, 'a');
    let [waits, away] = [0, 0];
    const waiting = openCopy(url, second.path, {
      onWaiting: async () => void (waits += 1),
      onUnreachable: () => (away += 1),
    });
    await waitFor(() => waits > 0);
    await server.kill();
    await waitFor(() => away > 0);
    await server.start();
    await says(copy, 'b');
    await copy[Symbol.asyncDispose]();
    await using next = await waiting;
    expect(next.journal.messageCounts().in).toBe(2);
  });

  test('acknowledges nothing while PostgreSQL is away for longer than the lease, and everything after', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const troubles: string[] = [];
    await using copy = await openCopy(url, folder.path, {
      leaseMs: 300,
      onTrouble: (error) => troubles.push(error.code),
      onHealed: () => troubles.push('healed'),
    });
    await says(copy, 'before');
    await server.kill();
    let acknowledged = 0;
    const during = Array.from({ length: 20 }, (_, n) => says(copy, `during${n}`).then(() => (acknowledged += 1)));
    await waitFor(() => troubles.length > 0 && !copy.home.lease.isHeld);
    expect(acknowledged).toBe(0);
    await server.start();
    await Promise.all(during);
    expect(copy.failures).toEqual([]);
    expect(troubles).toEqual(['home-store-failed', 'healed']);
    const rows = await (
      await Postgres.open(url, { clock: systemClock })
    ).query('SELECT id FROM assistant.journal_inbound');
    expect(rows.length).toBe(21);
  });

  test('an owner that was frozen for longer than its lease writes nothing more, and its copy is rebuilt', async () => {
    const url = await server.database();
    await using first = await tempFolder();
    await using second = await tempFolder();
    // Its timers stand still, as those of a frozen process do.
    const frozen = { ...systemClock, timer: () => ({ [Symbol.dispose]: () => {} }) };
    const copy = await openCopy(url, first.path, { clock: frozen, leaseMs: 300 });
    await says(copy, 'before');
    await using next = await openCopy(url, second.path);
    await says(next, 'taken over');
    expect(copy.home.lease.isHeld).toBe(false);
    await writeFile(join(first.path, 'workspace', 'late.txt'), 'too late');
    copy.home.files.touched('workspace/late.txt');
    await expect(says(copy, 'too late')).rejects.toMatchObject({ code: 'home-lost' });
    await expect((await copy.sessions.open('k')).append(plainTurn('t1', 'q', 'a'))).rejects.toThrow();
    expect(copy.failures.map(({ code }) => code)).toEqual(['home-lost']);
    {
      await using postgres = await Postgres.open(url, { clock: systemClock });
      expect(await postgres.query('SELECT hash FROM assistant.chunks')).toEqual([]);
    }
    await copy[Symbol.asyncDispose]();
    await next[Symbol.asyncDispose]();
    await using back = await openCopy(url, first.path);
    expect(back.home.brought).toBe('rebuilt');
    expect(back.journal.messageCounts().in).toBe(2);
    expect(await readdir(join(first.path, 'sessions'))).toEqual([]);
  });

  test('a transaction of which the answer was lost is neither lost nor written twice', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using between = await tempFolder();
    await using proxy = await startProxy(url, between.path);
    {
      await using copy = await openCopy(proxy.url, folder.path);
      for (let n = 0; n < 5; n += 1) {
        proxy.keepAnswers = true;
        const session = await copy.sessions.open('k');
        const turn = `t${n}`;
        const written = Promise.all([says(copy, `m${n}`), session.append(plainTurn(turn, 'a question', 'an answer'))]);
        await waitFor(() => proxy.kept > n);
        proxy.keepAnswers = false;
        await written;
      }
      expect(copy.failures).toEqual([]);
    }
    const { here, there } = await digests(url, folder.path);
    expect(there).toEqual(here);
    expect(here.find(({ table }) => table === 'inbound')?.rows).toBe(5);
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const [tape] = await postgres.query('SELECT string_agg(bytes, NULL ORDER BY at) AS bytes FROM assistant.tapes');
    expect(String(tape?.['bytes'])).toBe(await tapeOf(folder.path));
  });

  test('a connection that is cut at any moment costs nothing that was acknowledged', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using between = await tempFolder();
    await using proxy = await startProxy(url, between.path);
    {
      await using copy = await openCopy(proxy.url, folder.path);
      const done = { messages: 0 };
      const work = (async () => {
        for (; done.messages < 60; done.messages += 1) await says(copy, `m${done.messages}`);
      })();
      while (done.messages < 60) {
        const before = done.messages;
        proxy.cut();
        proxy.mend();
        await waitFor(() => done.messages > before);
      }
      await work;
      expect(copy.failures).toEqual([]);
    }
    const { here, there } = await digests(url, folder.path);
    expect(there).toEqual(here);
    expect(here.find(({ table }) => table === 'inbound')?.rows).toBe(60);
  });

  test('that an older program wrote is rebuilt, brought to the newer schema and kept in that', async () => {
    const url = await server.database();
    await using first = await tempFolder();
    await using second = await tempFolder();
    const older = journalMigrations.slice(0, -1);
    {
      await using home = await openGateway(url, first.path, { migrations: older });
      const path = join(first.path, 'state.db');
      using db = await openDatabase({ path, migrations: older, backupPath: null });
      const commits = home.watermark(db, { onDurable: () => {}, onFailure: () => {} });
      db.exec("INSERT INTO people VALUES ('telegram', '7', 'trusted', 'Ada', 1, 'owner')");
      await commits.durable(commits.committed());
      commits.close();
    }
    {
      await using copy = await openCopy(url, second.path);
      expect(copy.home.brought).toBe('rebuilt');
      expect(copy.journal.people.list()).toMatchObject([{ id: '7', name: 'Ada' }]);
      await says(copy, 'one');
    }
    await using postgres = await Postgres.open(url, { clock: systemClock });
    expect(await postgres.query('SELECT schema FROM assistant.homes')).toEqual([{ schema: journalMigrations.length }]);
    const { here, there } = await digests(url, second.path);
    expect(there).toEqual(here);
  });

  test('that was rewritten before its start is in PostgreSQL as it is now, without what it was', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    {
      await using copy = await openCopy(url, folder.path);
      await says(copy, 'one', 'the secret');
      await says(copy, 'two', 'a question');
    }
    const rewrite = async (path: string): Promise<void> => {
      using db = new DatabaseSync(join(path, 'state.db'));
      db.exec("DELETE FROM inbound WHERE id = 'one'");
    };
    {
      await using copy = await openCopy(url, folder.path, { rewrite });
      await says(copy, 'three');
    }
    const { here, there } = await digests(url, folder.path);
    expect(there).toEqual(here);
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const rows = await postgres.query('SELECT payload FROM assistant.journal_inbound');
    expect(rows.length).toBe(2);
    expect(JSON.stringify(rows)).not.toContain('the secret');
  });

  test('names the home in each table', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using copy = await openCopy(url, folder.path);
    await says(copy, 'one');
    await using postgres = await Postgres.open(url, { clock: systemClock });
    expect(await postgres.query('SELECT home, id FROM assistant.journal_inbound')).toEqual([{ home: HOME, id: 'one' }]);
  });
});
