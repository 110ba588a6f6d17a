import { expect, test } from 'vitest';
import { startApi } from '../support/api-world.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER } from '../support/world.ts';
import { startProxy } from './proxy.ts';

const programs = postgresPrograms();

describeWith('PostgreSQL')('how far the database is behind', () => {
  test('is told by the assistant: nothing while all is well, what waits and since when while it is away', async () => {
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
    expect(await facts()).toMatchObject({
      home: 'home',
      epoch: 1,
      isHeld: true,
      behind: { commits: 0 },
      failedRenewals: 0,
      homes: 1,
    });
    proxy.stall();
    const before = Date.now();
    world.telegram.userSays(OWNER, 'second');
    await waitFor(async () => (await facts())?.failedRenewals !== 0);
    await waitFor(async () => (await facts())?.isHeld === false);
    const away = await facts();
    expect(away?.behind.commits).toBeGreaterThan(0);
    expect(away?.behind.since).toBeGreaterThanOrEqual(before);
    expect(away?.leaseUntil).toBeLessThanOrEqual(Date.now());
    world.model.setHandler(() => 'two');
    proxy.mend();
    await waitFor(() => chatOf(world).includes('two'));
    await waitFor(async () => (await facts())?.behind.since === null, { what: 'all is written' });
    expect((await facts())?.isHeld).toBe(true);
  });

  test('is not told where the folder alone has the home', async () => {
    await using api = await startApi();
    expect(await api.world.assistant.call('info', {})).not.toHaveProperty('store');
  });
});
