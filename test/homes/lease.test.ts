import { TABLES } from '../support/extensions.ts';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tablesAfter } from '../../src/host/homes/journal-tables.ts';
import { type Lease, Leases } from '../../src/host/homes/lease.ts';
import { Presence } from '../../src/host/homes/gateways.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { installSchema } from '../../src/host/homes/schema.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { type Clock, systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { waitFor } from '../support/wait.ts';

const programs = postgresPrograms();
const LEASE_MS = 400;

/** A clock of which the timers stand still: a gateway that does not renew. */
const stopped: Clock = { ...systemClock, timer: () => ({ [Symbol.dispose]: () => {} }) };

describeWith('PostgreSQL')('the lease of a home', () => {
  let server: Server;
  let postgres: Postgres;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
    postgres = await Postgres.open(await server.database(), { clock: systemClock, most: 10 });
    await installSchema(postgres, tablesAfter(journalMigrations, TABLES));
  });
  afterAll(async () => {
    await postgres?.[Symbol.asyncDispose]();
    await server?.[Symbol.asyncDispose]();
  });

  const gateway = (owner: string, { clock = systemClock, leaseMs = LEASE_MS, schema = 30 } = {}): Leases =>
    new Leases({ postgres, owner, clock, log: silentLog, leaseMs, schema });

  test('is held by one gateway at a time, however many ask at once', async () => {
    const gateways = Array.from({ length: 8 }, (_, n) => gateway(`many-${n}`));
    const claimed = await Promise.all(gateways.map((one) => one.claim('many')));
    expect(claimed.filter((lease) => lease !== null).length).toBe(1);
    gateways.forEach((one) => one[Symbol.dispose]());
  });

  test('is renewed by itself, and free for the next when its gateway gives it back', async () => {
    using first = gateway('renewing');
    using second = gateway('waiting');
    const lease = await first.claim('renewed');
    const until = performance.now() + 3 * LEASE_MS;
    await waitFor(() => performance.now() > until);
    expect(lease?.isHeld).toBe(true);
    expect(await second.claim('renewed')).toBeNull();
    await lease?.release();
    expect(lease?.isHeld).toBe(false);
    const next = await second.claim('renewed');
    expect(next?.epoch).toBe((lease?.epoch ?? 0) + 1);
  });

  test('is given back for good, also when a renewal that was sent before arrives after it', async () => {
    const sent = Promise.withResolvers<void>();
    const arrives = Promise.withResolvers<void>();
    const slow = new Proxy(postgres, {
      get: (target, key) =>
        key !== 'query'
          ? Reflect.get(target, key)
          : async (text: string, values: readonly unknown[]) => {
              if (text.includes('renewed')) {
                sent.resolve();
                await arrives.promise;
              }
              return await target.query(text, values);
            },
    });
    using first = new Leases({ postgres: slow, owner: 'giving', clock: systemClock, log: silentLog, schema: 30 });
    using second = gateway('taking');
    const lease = (await first.claim('given')) as Lease;
    const renewal = lease.leave();
    await sent.promise;
    await lease.release();
    arrives.resolve();
    await renewal;
    expect((await second.claim('given'))?.epoch).toBe(lease.epoch + 1);
  });

  test('ends here before it ends in the database, and is lost when another gateway claims the home', async () => {
    using frozen = gateway('frozen', { clock: stopped, leaseMs: 2_000 });
    using other = gateway('other');
    const lease = (await frozen.claim('frozen')) as Lease;
    expect(lease.isHeld).toBe(true);
    await waitFor(() => !lease.isHeld);
    expect(await other.claim('frozen')).toBeNull();
    const taken = await waitFor(() => other.claim('frozen'));
    expect(taken.epoch).toBe(lease.epoch + 1);
    expect(lease.lost.aborted).toBe(false);
    await lease.renew();
    expect(lease.lost.reason).toMatchObject({ code: 'home-lost' });
  });

  test('that ran out is renewed when no one claimed the home meanwhile', async () => {
    using slow = gateway('slow', { clock: stopped });
    const lease = (await slow.claim('slow')) as Lease;
    await waitFor(() => !lease.isHeld);
    await lease.renew();
    expect(lease.isHeld).toBe(true);
    expect(lease.lost.aborted).toBe(false);
  });

  test('is renewed while a write transaction of another home of the gateway takes long', async () => {
    using busy = gateway('busy');
    await busy.claim('writing');
    const lease = (await busy.claim('quiet')) as Lease;
    using other = gateway('beside');
    const seconds = (4 * LEASE_MS) / 1_000;
    const writing = postgres.transaction([
      { text: "UPDATE assistant.homes SET revision = revision + 1 WHERE name = 'writing'" },
      { text: `SELECT pg_sleep(${seconds})` },
      {
        text: "UPDATE assistant.homes SET lease_until = clock_timestamp() + interval '1 minute' WHERE name = 'writing'",
      },
    ]);
    let isWriting = true;
    const written = writing.finally(() => (isWriting = false));
    let everFree = false;
    await waitFor(async () => {
      everFree ||= !lease.isHeld || (await other.claim('writing')) !== null;
      return !isWriting;
    });
    await written;
    expect(everFree).toBe(false);
    expect(lease.lost.aborted).toBe(false);
  });

  test('is not taken from itself by two claims of one gateway at the same time', async () => {
    await postgres.query(
      "INSERT INTO assistant.homes (name, schema) SELECT 'twice-' || n, 1 FROM generate_series(1, 6) AS n",
    );
    using one = gateway('twice', { leaseMs: 60_000 });
    const all = Array.from({ length: 6 }, (_, n) => `twice-${n + 1}`);
    const claimed = (await Promise.all([one.claimAll(all), one.claimAll(all), one.claimAll(all)])).flat();
    expect(claimed.map(({ name }) => name).toSorted()).toEqual(all);
    await Promise.all(claimed.map((lease) => lease.renew()));
    expect(claimed.filter(({ lost }) => lost.aborted)).toEqual([]);
    await Promise.all(claimed.map((lease) => lease.release()));
  });

  test('is not given to a gateway of many homes while one that has only this home waits for it', async () => {
    await postgres.query("INSERT INTO assistant.homes (name, schema) VALUES ('reserved', 1)");
    const facts = { postgres, clock: systemClock, log: silentLog, leaseMs: 60_000 };
    using many = gateway('many-homes', { leaseMs: 60_000 });
    {
      const known = { name: 'a machine', version: '1', max: 1 };
      await using waiting = new Presence({ ...facts, owner: 'one-home', gateway: known, only: 'reserved', schema: 30 });
      await waiting.note();
      expect(await many.claimAll(['reserved'])).toEqual([]);
    }
    expect((await many.claimAll(['reserved'])).map(({ name }) => name)).toEqual(['reserved']);
  });

  test('notes with its renewals what the home takes, and whether it is handed over', async () => {
    using one = gateway('loaded', { clock: stopped, leaseMs: 60_000 });
    let lease = (await one.claim('loaded')) as Lease;
    const facts = async (): Promise<unknown> =>
      (await postgres.query("SELECT load, is_leaving FROM assistant.homes WHERE name = 'loaded'"))[0];
    for (let n = 0; n < 1_000; n += 1) lease.load.worked();
    await waitFor(async () => {
      await lease.renew();
      return lease.load.now() > 1;
    });
    await lease.leave();
    expect(await facts()).toEqual({ load: lease.load.now(), is_leaving: true });
    const left = lease.load.now();
    await lease.release();
    lease = (await one.claim('loaded')) as Lease;
    expect(lease.load.now()).toBeCloseTo(left, 0);
    expect(await facts()).toMatchObject({ is_leaving: false });
  });

  test('is claimed at once by the next process of the same owner', async () => {
    using first = gateway('same', { leaseMs: 60_000 });
    const lease = (await first.claim('same')) as Lease;
    using second = gateway('same', { leaseMs: 60_000 });
    expect((await second.claim('same'))?.epoch).toBe(lease.epoch + 1);
    await lease.renew();
    expect(lease.lost.aborted).toBe(true);
  });

  test('does not count while the machine slept, although the monotonic clock stood still', async () => {
    let wall = 0;
    using sleeping = gateway('asleep', { clock: { ...stopped, now: () => Date.now() + wall }, leaseMs: 60_000 });
    const lease = (await sleeping.claim('asleep')) as Lease;
    expect(lease.isHeld).toBe(true);
    wall = 60_000;
    expect(lease.isHeld).toBe(false);
  });

  test('of several free homes is given to whoever asks, each once', async () => {
    await postgres.query(
      "INSERT INTO assistant.homes (name, schema) SELECT 'free-' || n, 1 FROM generate_series(1, 12) AS n",
    );
    const gateways = Array.from({ length: 4 }, (_, n) => gateway(`sharing-${n}`, { leaseMs: 60_000 }));
    const all = Array.from({ length: 12 }, (_, n) => `free-${n + 1}`);
    const claimed = await Promise.all(gateways.map((one, at) => one.claimAll(all.slice(at, at + 9))));
    expect(
      claimed
        .flat()
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(all.toSorted());
    gateways.forEach((one) => one[Symbol.dispose]());
  });

  test('is not given to a program that does not know what the home’s rows need', async () => {
    await postgres.query("INSERT INTO assistant.homes (name, oldest_reader) VALUES ('newer', 31)");
    using old = gateway('old', { schema: 30 });
    expect(await old.claim('newer')).toBeNull();
    using knowing = gateway('new', { schema: 31 });
    expect((await knowing.claim('newer'))?.epoch).toBe(1);
  });
});
