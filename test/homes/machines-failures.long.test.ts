import { TABLES } from '../support/extensions.ts';
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAssistant } from '../../src/app.ts';
import { Homes, type HomesPorts } from '../../src/host/machine/homes.ts';
import type { AssistantInfo } from '../../src/core/gateway/assistant-info.ts';
import { openHomeStore } from '../../src/host/homes/home-store.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { FIXTURE_SERVER } from '../mcp/built-fixture.ts';
import type { HomeGateway } from '../support/home-gateways.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { waitFor } from '../support/wait.ts';
import { OWNER } from '../support/world.ts';
import { connectHome, startMachines, type Machine } from './machines-world.ts';

const programs = postgresPrograms();

/** The assistant of a home as it describes itself. Rejects while none answers there. */
async function infoOf(machine: Machine, name: string): Promise<AssistantInfo> {
  await using home = await connectHome(machine, name);
  if (home === undefined) throw new Error(`${name} does not answer`);
  return await home.call('info', {});
}

/** What the MCP servers of a home do. */
async function serversOf(machine: Machine, name: string): Promise<readonly string[]> {
  await using home = await connectHome(machine, name);
  return ((await home?.call('mcpList', {})) ?? []).map(({ state }) => state);
}

/** How many homes a machine may run from its next start on. */
async function mayRun({ folder }: HomeGateway, max: number): Promise<void> {
  const file = join(folder, 'config.json');
  const config = JSON.parse(await readFile(file, 'utf8')) as object;
  await writeFile(file, JSON.stringify({ ...config, homes: { enabled: true, max } }));
}

describeWith('PostgreSQL')('a home of a machine that fails by itself', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('that another machine has before its start has ended runs there, and the late machine goes on', async () => {
    const url = await server.database();
    await using world = await startMachines(`${url}&leaseSeconds=4`, ['ada', 'bob']);
    const written = Promise.withResolvers<void>();
    const late = await world.program('late', ({ proxy }) => {
      void proxy.stallBefore('INSERT INTO assistant."journal_').then(() => written.resolve());
    });
    await written.promise;
    const next = await world.program('next');
    await next.runs(2);
    late.gateway.proxy.mend();
    await waitFor(() => late.gateway.log.includes('homes: another gateway took the home'));
    // Each of them has its share again.
    await late.runs(1);
    await next.runs(1);
    expect([...(await late.running()), ...(await next.running())].toSorted()).toEqual(['ada', 'bob']);
    for (const { name, replies } of world.homes) {
      await world.asks(name, `said-${name}`, `re: said-${name}`);
      expect(replies()).toEqual([`re: said-${name}`]);
    }
  });

  test('that is lost in the moment in which its start ends is started again', async () => {
    const url = await server.database();
    await using world = await startMachines(url, ['ada']);
    const [clock, log] = [systemClock, silentLog];
    const gateway = { name: 'here', version: '1', max: 9 };
    const machine = join(world.folder, 'machine');
    await using store = await openHomeStore({
      url,
      folder: machine,
      home: null,
      gateway,
      migrations: journalMigrations,
      tables: TABLES,
      clock,
      log,
    });
    const { presence } = store;
    assert(presence !== undefined);
    const epochs: number[] = [];
    const open: HomesPorts['open'] = async (lease) => {
      epochs.push(lease.epoch);
      const assistant = await createAssistant({ home: join(world.folder, 'any'), environment: {}, log });
      if (epochs.length === 1) lease.refused();
      return assistant;
    };
    await using homes = new Homes({ store, presence, machine, open, clock, random: systemRandom, log });
    await homes.start();
    await waitFor(() => epochs.length === 2 && homes.list()[0]?.state === 'running');
    expect(epochs).toEqual([2, 3]);
  });

  test('that cannot be opened three times is left to another machine, and the others go on', async () => {
    const url = await server.database();
    await using world = await startMachines(`${url}&leaseSeconds=4`, ['ada', 'bob']);
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const claims = async (): Promise<number> =>
      Number((await postgres.query("SELECT epoch FROM assistant.homes WHERE name = 'ada'"))[0]?.['epoch']);
    const before = await claims();
    const a = await world.program('a', async (gateway) => {
      await mkdir(gateway.copyOf('ada'), { recursive: true, mode: 0o700 });
      await writeFile(join(gateway.copyOf('ada'), 'state.db'), '');
    });
    await waitFor(() => a.gateway.log.includes('a home cannot be opened here'));
    expect((await claims()) - before).toBe(3);
    await world.asks('bob', 'said-meanwhile', 're: said-meanwhile');
    const reason = expect.stringContaining('is another one. Nothing was changed.');
    await waitFor(async () => expect(await a.runs(1)).toEqual(['bob']) ?? true);
    expect((await a.info()).homes).toMatchObject([
      { name: 'ada', state: 'failed', detail: reason },
      { name: 'bob', state: 'running' },
    ]);
    const b = await world.program('b');
    expect(await b.runs(1)).toEqual(['ada']);
    await world.asks('ada', 'said-there', 're: said-there');
    await world.asks('bob', 'said-here', 're: said-here');
    expect((await claims()) - before).toBe(4);
    await waitFor(
      async () => expect((await a.info()).homes).toMatchObject([{ name: 'bob', state: 'running' }]) ?? true,
    );
  });

  test('runs again at once when its machine was killed and started again, though its lease holds for long', async () => {
    const url = await server.database();
    await using world = await startMachines(`${url}&leaseSeconds=60`, ['ada', 'bob']);
    const a = await world.program('a');
    await a.runs(2);
    const b = await world.program('b');
    await b.runs(1);
    const [name = ''] = await a.runs(1);
    await a.gateway.kill();
    const began = performance.now();
    await a.gateway.start();
    expect(await a.runs(1)).toEqual([name]);
    expect(performance.now() - began).toBeLessThan(30_000);
    await world.asks(name, 'said-again', 're: said-again');
    await b.runs(1);
  });

  test('is in safe mode by itself, until it is told to start anew; the others run as usual', async () => {
    const url = await server.database();
    const mcpServers = { fix: { command: process.execPath, args: [FIXTURE_SERVER] } };
    await using world = await startMachines(`${url}&leaseSeconds=2`, ['ada', 'bob'], { mcpServers });
    const machine = await world.program('machine', (gateway) => mayRun(gateway, 1));
    const [name = ''] = await machine.runs(1);
    await world.asks(name, 'said-first', 're: said-first');
    for (let n = 1; n <= 5; n += 1) {
      expect(await machine.runs(1)).toEqual([name]);
      await machine.gateway.kill();
      await mayRun(machine.gateway, n < 5 ? 1 : 2);
      await machine.gateway.start();
    }
    await machine.runs(2);
    const other = name === 'ada' ? 'bob' : 'ada';
    const safe = expect.stringMatching(/^I am in safe mode, because I was started 6 times within five minutes/u);
    expect((await infoOf(machine, name)).warnings).toContainEqual(safe);
    expect((await infoOf(machine, other)).warnings).not.toContainEqual(safe);
    expect(await serversOf(machine, name)).toEqual(['off']);
    expect(await serversOf(machine, other)).not.toEqual(['off']);
    const { answers, telegram } = world.home(name);
    const notices = (): number => answers().filter((text) => text.startsWith('I am in safe mode')).length;
    await waitFor(() => notices() === 1);
    await world.asks(name, 'said-safely', 're: said-safely');
    await world.asks(other, 'said-usual', 're: said-usual');
    const { startedAt } = await infoOf(machine, other);
    telegram.userSays(OWNER, '/restart');
    await waitFor(async () => (await serversOf(machine, name))[0] !== 'off', { what: 'the end of safe mode' });
    await world.asks(name, 'said-after', 're: said-after');
    expect((await infoOf(machine, name)).warnings).not.toContainEqual(expect.stringContaining('safe mode'));
    expect(notices()).toBe(1);
    expect(world.home(other).replies()).toEqual(['re: said-usual']);
    expect(world.home(other).answers().join()).not.toContain('safe mode');
    expect((await infoOf(machine, other)).startedAt).toBe(startedAt);
  });
});
