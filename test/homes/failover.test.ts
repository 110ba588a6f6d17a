import { afterAll, beforeAll, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { serversOf } from '../../src/host/homes/servers.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { inboundMessage } from '../support/inbound.ts';
import { postgresPrograms } from '../support/postgres.ts';
import { startPair, type Pair } from '../support/postgres-pair.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { startProxy } from './proxy.ts';
import { digests, openCopy, type Copy } from './world.ts';

const programs = postgresPrograms();

async function says(copy: Copy, id: string): Promise<void> {
  await copy.journal.inbox.accept([inboundMessage({ id, externalId: `m:${id}`, text: 'a question' })]);
}

test('an address may name several servers, as psql takes it', () => {
  expect(serversOf('postgres://me:p%40w@a:5433,b,[::1]:5434/homes?sslmode=require')).toEqual([
    'postgres://me:p%40w@a:5433/homes?sslmode=require',
    'postgres://me:p%40w@b/homes?sslmode=require',
    'postgres://me:p%40w@[::1]:5434/homes?sslmode=require',
  ]);
  expect(serversOf('postgres://me@/homes?host=/run/a,%2Frun%2Fb&port=1,2')).toEqual([
    'postgres://me@/homes?host=%2Frun%2Fa&port=1',
    'postgres://me@/homes?host=%2Frun%2Fb&port=2',
  ]);
  expect(serversOf('postgres://me@/homes?host=%2Frun%2Fa')).toEqual(['postgres://me@/homes?host=%2Frun%2Fa']);
  expect(serversOf('postgres://me@db/homes')).toEqual(['postgres://me@db/homes']);
});

describeWith('PostgreSQL')('a home in a PostgreSQL that has a synchronous standby', { timeout: 60_000 }, () => {
  let pair: Pair;
  beforeAll(async () => {
    pair = await startPair(programs ?? '');
  });
  afterAll(async () => pair?.[Symbol.asyncDispose]());

  test('is written to the primary, wherever that stands in the address', async () => {
    const url = await pair.database();
    for (const one of [
      url,
      url.replace(/host=.*/u, `host=${encodeURIComponent(pair.folders.toReversed().join(','))}`),
    ]) {
      await using postgres = await Postgres.open(one, { clock: systemClock });
      expect(await postgres.query('SELECT pg_is_in_recovery() AS standby')).toEqual([{ standby: false }]);
    }
    const other = pair.primary === 0 ? 1 : 0;
    await waitFor(() => pair.ask(other, databaseOf(url), 'SELECT 1'));
    const standby = serversOf(url)[other] ?? '';
    await using postgres = await Postgres.open(standby, { clock: systemClock });
    await expect(postgres.query('SELECT 1')).rejects.toMatchObject({ code: 'store-unreachable' });
  });

  test.each(['killed', 'frozen'] as const)(
    'keeps all that was acknowledged when the primary is %s and the standby promoted',
    async (kind) => {
      const url = await pair.database();
      await using folder = await tempFolder();
      const acknowledged: string[] = [];
      {
        await using copy = await openCopy(url, folder.path);
        const stop = new AbortController();
        const work = Promise.all(
          ['a', 'b', 'c'].map(async (who) => {
            for (let n = 0; !stop.signal.aborted; n += 1) {
              await says(copy, `${who}${n}`);
              acknowledged.push(`${who}${n}`);
            }
          }),
        );
        await waitFor(() => acknowledged.length > 30);
        await (kind === 'killed' ? pair.kill() : pair.freeze());
        await pair.promote();
        const before = acknowledged.length;
        // It believes that it is the primary still, and has the connections that it had.
        if (kind === 'frozen') await pair.thaw();
        await pair.rebuild();
        await waitFor(() => acknowledged.length > before + 30);
        stop.abort();
        await work;
        expect(copy.failures).toEqual([]);
      }
      const { here, there } = await digests(url, folder.path);
      expect(there).toEqual(here);
      await using postgres = await Postgres.open(url, { clock: systemClock });
      const rows = await postgres.query('SELECT id FROM assistant.journal_inbound');
      expect(rows.map(({ id }) => String(id)).toSorted()).toEqual(acknowledged.toSorted());
    },
  );

  test('knows a transaction again of which the answer was lost with the primary', async () => {
    const url = await pair.database();
    await using folder = await tempFolder();
    await using one = await tempFolder();
    await using two = await tempFolder();
    const [first = '', second = ''] = serversOf(url);
    await using proxyOne = await startProxy(first, one.path);
    await using proxyTwo = await startProxy(second, two.path);
    const proxies = [proxyOne, proxyTwo] as const;
    const through = url.replace(/host=.*/u, `host=${encodeURIComponent(`${one.path},${two.path}`)}`);
    {
      await using copy = await openCopy(through, folder.path);
      const proxy = proxies[pair.primary];
      const revision = async (): Promise<string> =>
        await pair.ask(pair.primary, databaseOf(url), 'SELECT revision FROM assistant.homes');
      await copy.home.writer.written();
      const before = Number(await revision());
      proxy.keepAnswers = true;
      const written = says(copy, 'one');
      await waitFor(() => proxy.kept > 0);
      proxy.cut();
      await pair.kill();
      await pair.promote();
      expect(Number(await revision())).toBe(before + 1);
      await pair.rebuild();
      await written;
      expect(Number(await revision())).toBe(before + 1);
      expect(copy.failures).toEqual([]);
    }
    const { here, there } = await digests(url, folder.path);
    expect(there).toEqual(here);
    expect(here.find(({ table }) => table === 'inbound')?.rows).toBe(1);
  });

  test('acknowledges nothing that the standby does not have, although the primary shows it after its crash', async () => {
    const url = await pair.database();
    const database = databaseOf(url);
    await using folder = await tempFolder();
    // No renewal waits for the standby meanwhile.
    await using copy = await openCopy(url, folder.path, { leaseMs: 600_000 });
    await says(copy, 'before');
    await copy.home.writer.written();
    const waiting = async (): Promise<boolean> =>
      (await pair.ask(
        pair.primary,
        database,
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name = 'assistant'",
      )) === '1';
    const rows = (): Promise<string> =>
      pair.ask(pair.primary, database, 'SELECT count(*) FROM assistant.journal_inbound');
    await pair.killStandby();
    let isAcknowledged = false;
    const written = says(copy, 'one').then(() => (isAcknowledged = true));
    await waitFor(waiting, { what: 'the commit waits for the standby' });
    expect(await rows()).toBe('1');
    await pair.kill();
    await pair.restart();
    expect(await rows()).toBe('2');
    await waitFor(async () => isAcknowledged || (await waiting()), { what: 'the writer asks what became of it' });
    expect(isAcknowledged).toBe(false);
    await pair.kill();
    await pair.startStandby();
    await pair.promote();
    expect(await rows()).toBe('1');
    await pair.rebuild();
    await written;
    expect(await rows()).toBe('2');
    expect(copy.failures).toEqual([]);
  });

  test('goes to the server that was promoted, although the earlier primary runs again and stands first', async () => {
    const url = await pair.database();
    await using known = await Postgres.open(url, { clock: systemClock });
    await known.query('SELECT 1');
    const before = pair.primary;
    await pair.kill();
    await pair.promote();
    await pair.startOld();
    const order = pair.folders.toSorted((a) => (a === pair.folders[before] ? -1 : 1));
    const first = url.replace(/host=.*/u, `host=${encodeURIComponent(order.join(','))}`);
    await using unknowing = await Postgres.open(first, { clock: systemClock });
    // It gets no connection to the new one before the old one keeps it waiting.
    await expect(known.query('CREATE TABLE late (n int)')).rejects.toMatchObject({ code: 'store-unreachable' });
    for (const postgres of [known, unknowing]) {
      const [row] = await postgres.query("SELECT current_setting('unix_socket_directories') AS folder");
      expect(row).toEqual({ folder: pair.folders[pair.primary] });
    }
    await pair.rebuild();
  });

  test('counts a server that only reads as one that cannot be reached', async () => {
    const url = `${await pair.database()}&options=${encodeURIComponent('-c default_transaction_read_only=on')}`;
    await using postgres = await Postgres.open(url, { clock: systemClock });
    await expect(postgres.query('CREATE TABLE one (n int)')).rejects.toMatchObject({ code: 'store-unreachable' });
  });
});

const databaseOf = (url: string): string => new URL(url.replace('@/', '@x/')).pathname.slice(1);
