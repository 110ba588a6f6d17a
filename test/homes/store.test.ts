import { TABLES } from '../support/extensions.ts';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HomeStore, openHomeStore } from '../../src/host/homes/home-store.ts';
import { openHome } from '../../src/host/homes/open-home.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';

const programs = postgresPrograms();
const parts = { migrations: journalMigrations, tables: TABLES, clock: systemClock, log: silentLog };

describeWith('PostgreSQL')('the PostgreSQL of a process with many homes', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  const machine = (url: string, folder: string): Promise<HomeStore> =>
    openHomeStore({ ...parts, url, folder, home: null, leaseMs: 60_000 });

  test('is reached through few connections, however many homes are open', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    await using store = await machine(url, folder.path);
    await using stack = new AsyncDisposableStack();
    const names = Array.from({ length: 20 }, (_, n) => `home-${n}`);
    const homes = await Promise.all(
      names.map(async (name) => {
        const lease = await store.leases.claim(name);
        if (lease === null) throw new Error(`${name} is not free`);
        const path = join(folder.path, 'homes', name);
        const paths = { folder: path, state: join(path, 'state.db'), sessions: join(path, 'sessions') };
        return stack.use(await openHome({ ...parts, ...paths, config: 'own', store, lease }));
      }),
    );
    await Promise.all(
      homes.flatMap(({ tapes }) =>
        ['a', 'b', 'c'].map((key) =>
          tapes.write({ key, at: 0, bytes: Buffer.from('{}\n') }, new AbortController().signal),
        ),
      ),
    );
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const [open] = await postgres.query(
      'SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    );
    expect(open?.['n']).toBeLessThanOrEqual(11);
    const tapes = await postgres.query('SELECT home FROM assistant.tapes GROUP BY home HAVING count(*) = 3');
    expect(tapes.length).toBe(20);
  });

  test('gives the next process of a folder the same owner’s name, and a copy of the folder another one', async () => {
    const url = await server.database();
    await using folder = await tempFolder();
    const path = join(folder.path, 'machine');
    const owner = async (at: string): Promise<string> => {
      await using store = await machine(url, at);
      return store.owner;
    };
    const first = await owner(path);
    expect(await owner(path)).toBe(first);
    const copy = join(folder.path, 'copy');
    await cp(path, copy, { recursive: true });
    expect(await owner(copy)).not.toBe(first);
  });
});
