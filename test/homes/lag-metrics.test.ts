import { expect, test } from 'vitest';
import { startApi, type ApiWorld } from '../support/api-world.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER } from '../support/world.ts';
import { startProxy } from './proxy.ts';

const programs = postgresPrograms();

/** The series of the store in `GET /metrics`, by name and labels. */
async function storeSeries(api: ApiWorld): Promise<Readonly<Record<string, number>>> {
  const text = await (await api.ask('/metrics')).text();
  const lines = text.split('\n').filter((line) => line.startsWith('assistant_store_'));
  return Object.fromEntries(lines.map((line) => line.split(' ')).map(([name, value]) => [name, Number(value)]));
}

describeWith('PostgreSQL')('how far the database is behind', () => {
  test('is told in /metrics: nothing while all is well, what waits and since when while it is away', async () => {
    await using server = await startPostgres(programs ?? '');
    await using sockets = await tempFolder();
    await using proxy = await startProxy(await server.database(), sockets.path);
    await using api = await startApi({ config: { store: `${proxy.url}&leaseSeconds=5` } });
    const { world } = api;
    const facts = async () => (await world.assistant.call('info', {})).store;
    world.model.reply('one');
    world.telegram.userSays(OWNER, 'first');
    await waitFor(() => chatOf(world).includes('one'));
    await waitFor(async () => (await facts())?.behind.since === null, { what: 'all is written' });
    const well = await storeSeries(api);
    expect(well).toMatchObject({
      'assistant_store_held{home="home"}': 1,
      'assistant_store_behind_seconds{home="home"}': 0,
      'assistant_store_behind_commits{home="home"}': 0,
      assistant_store_renewals_failed_total: 0,
      assistant_store_homes: 1,
    });
    expect(well['assistant_store_transactions_total{home="home"}']).toBeGreaterThan(3);
    expect(well['assistant_store_bytes_total{home="home"}']).toBeGreaterThan(500);
    proxy.stall();
    world.telegram.userSays(OWNER, 'second');
    await waitFor(async () => (await storeSeries(api))['assistant_store_renewals_failed_total'] !== 0);
    await waitFor(async () => (await facts())?.isHeld === false);
    const series = await storeSeries(api);
    expect(series['assistant_store_held{home="home"}']).toBe(0);
    expect(series['assistant_store_behind_seconds{home="home"}']).toBeGreaterThan(1);
    world.model.setHandler(() => 'two');
    proxy.mend();
    await waitFor(() => chatOf(world).includes('two'));
  });

  test('is not in /metrics where the folder alone has the home', async () => {
    await using api = await startApi();
    expect(await storeSeries(api)).toEqual({});
  });
});
