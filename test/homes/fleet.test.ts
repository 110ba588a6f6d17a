import { TABLES } from '../support/extensions.ts';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readFleet, type Fleet } from '../../src/host/homes/fleet.ts';
import { openHomeStore, type HomeStoreOptions } from '../../src/host/homes/home-store.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const programs = postgresPrograms();

describeWith('PostgreSQL')('what the database says of gateways and homes', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  const optionsOf = (url: string, folder: string, options: Partial<HomeStoreOptions> = {}): HomeStoreOptions => ({
    url,
    folder,
    home: null,
    gateway: { name: `${folder} on host-1`, version: '1.2.3', max: 50 },
    migrations: journalMigrations,
    tables: TABLES,
    clock: systemClock,
    log: silentLog,
    leaseMs: 1_000,
    ...options,
  });
  const fleetOf = async (url: string, schema = journalMigrations.length): Promise<Fleet> => {
    await using postgres = await Postgres.open(url, { clock: systemClock });
    return await readFleet(postgres, schema);
  };

  test('names each gateway, also one that runs nothing yet, and the homes that it runs', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const at = join(folder.path, 'one');
    await using store = await openHomeStore(optionsOf(url, at));
    await using _waiting = await openHomeStore(optionsOf(url, join(folder.path, 'two'), { home: 'two' }));
    await store.postgres.query(
      "INSERT INTO assistant.homes (name, schema, oldest_reader) VALUES ('alice', 1, 1), ('newer', 900, 900), ('moved', 1, 1)",
    );
    await store.postgres.query("UPDATE assistant.homes SET kept_by = 'x', kept_at = 'a folder' WHERE name = 'moved'");
    expect((await store.leases.claimAll(['alice', 'newer', 'moved'])).map(({ name }) => name)).toEqual(['alice']);
    const { gateways, homes } = await fleetOf(url);
    const facts = { version: '1.2.3', max: 50, isAlive: true, isLeaving: false, avoids: [] };
    expect(gateways).toMatchObject([
      { ...facts, owner: store.owner, name: `${at} on host-1`, only: null, homes: 1, load: 1 },
      { ...facts, only: 'two', homes: 0, load: 0 },
    ]);
    expect(homes).toMatchObject([
      { name: 'alice', owner: store.owner, gateway: `${at} on host-1`, isHeld: true, load: 1, needsNewer: false },
      { name: 'moved', isHeld: false, leaseEndsInMs: null, keptBy: 'x', keptAt: 'a folder' },
      { name: 'newer', isHeld: false, owner: null, gateway: null, needsNewer: true },
    ]);
    expect(homes[0]?.leaseEndsInMs).toBeGreaterThan(0);
    expect((await fleetOf(url, 900)).homes.map(({ needsNewer }) => needsNewer)).toEqual([false, false, false]);
  });

  test('says at once that a gateway stopped, soon that one is gone, and forgets it after a day', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const stopped = { ...systemClock, timer: () => ({ [Symbol.dispose]: () => {} }) };
    const alive = async (): Promise<readonly boolean[]> => (await fleetOf(url)).gateways.map(({ isAlive }) => isAlive);
    {
      await using _store = await openHomeStore(optionsOf(url, join(folder.path, 'one'), { leaseMs: 60_000 }));
      expect(await alive()).toEqual([true]);
    }
    expect(await alive()).toEqual([false]);
    await using frozen = await openHomeStore(optionsOf(url, join(folder.path, 'two'), { clock: stopped }));
    expect(await alive()).toEqual([false, true]);
    await waitFor(async () => !(await alive()).includes(true));
    await frozen.postgres.query(
      "UPDATE assistant.gateways SET seen_until = seen_until - interval '25 hours' WHERE owner <> $1",
      [frozen.owner],
    );
    await frozen.presence?.note();
    expect(await alive()).toEqual([true]);
  });

  test('says which homes a gateway could not open, for as long as it leaves them to others, and that it is leaving', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using store = await openHomeStore(optionsOf(url, folder.path));
    await store.presence?.avoid('broken', 300);
    expect((await fleetOf(url)).gateways).toMatchObject([{ avoids: ['broken'], isLeaving: false }]);
    await waitFor(async () => (await fleetOf(url)).gateways[0]?.avoids.length === 0);
    await store.presence?.leave();
    expect((await fleetOf(url)).gateways).toMatchObject([{ avoids: [], isLeaving: true }]);
  });
});
