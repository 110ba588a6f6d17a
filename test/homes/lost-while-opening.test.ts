import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { inboundMessage } from '../support/inbound.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { startProxy } from './proxy.ts';
import { openCopy, type Copy } from './world.ts';

const programs = postgresPrograms();
/** Its timers stand still, as those of a frozen process do. */
const frozen = { ...systemClock, timer: () => ({ [Symbol.dispose]: () => {} }) };

const says = async (copy: Copy, id: string): Promise<void> =>
  await copy.journal.inbox.accept([inboundMessage({ id, externalId: `m:${id}`, text: 'a question' })]).then(() => {});

describeWith('PostgreSQL')('a home that another gateway claims while a slow one opens it', () => {
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    url = await server.database();
    await using folder = await tempFolder();
    await using copy = await openCopy(url, folder.path);
    await says(copy, 'before');
  });

  test('is waited for again, although what the slow one read is of two states', async () => {
    await using first = await tempFolder();
    await using second = await tempFolder();
    await using sockets = await tempFolder();
    await using proxy = await startProxy(url, sockets.path);
    const read = proxy.stallBefore('lpad(left(encode');
    const opening = openCopy(proxy.url, first.path, { clock: frozen, leaseMs: 300 });
    await read;
    {
      await using next = await openCopy(url, second.path);
      await says(next, 'meanwhile');
    }
    proxy.mend();
    await using copy = await opening;
    expect(copy.home.lease.epoch).toBe(4);
    expect(copy.journal.messageCounts().in).toBe(2);
  });

  test('keeps the pieces of files whose list the next owner has still to send', async () => {
    await using first = await tempFolder();
    await using second = await tempFolder();
    await using sockets = await tempFolder();
    await using proxy = await startProxy(url, sockets.path);
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const removal = proxy.stallBefore('DELETE FROM assistant.chunks');
    const opening = openCopy(proxy.url, first.path, { clock: frozen, leaseMs: 300 });
    await removal;
    {
      await using _next = await openCopy(url, second.path);
      await postgres.query("INSERT INTO assistant.chunks VALUES ('alice', 'a hash', 'a piece')");
      const claim = proxy.stallBefore('FOR UPDATE SKIP LOCKED');
      proxy.mend();
      await claim;
      expect(await postgres.query('SELECT hash FROM assistant.chunks')).toEqual([{ hash: 'a hash' }]);
    }
    proxy.mend();
    await using _copy = await opening;
  });
});
