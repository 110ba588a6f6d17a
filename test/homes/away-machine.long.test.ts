import { afterAll, beforeAll, expect, test } from 'vitest';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { OWNER } from '../support/world.ts';
import { connectHome, startMachines } from './machines-world.ts';
import { startProxy } from './proxy.ts';

const programs = postgresPrograms();
const NAMES = ['ada', 'bob', 'cleo'];

describeWith('PostgreSQL')('the homes of a machine whose database is away', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('tell a person who owns several of them once that it is away and once that it is back, each time', async () => {
    await using sockets = await tempFolder();
    await using proxy = await startProxy(await server.database(), sockets.path);
    await using world = await startMachines(`${proxy.url}&leaseSeconds=4`, NAMES);
    const machine = await world.machine('a');
    await machine.runs(NAMES.length);
    const texts = (): readonly string[] => world.homes.flatMap(({ answers }) => answers());
    const notices = (): number => texts().filter((text) => text.startsWith('⚠')).length;
    const allClear = (): number =>
      texts().filter((text) => text.startsWith('The database of this home can be written again')).length;
    const troubled = async (): Promise<number> => {
      const warned = await Promise.all(
        NAMES.map(async (name) => {
          await using home = await connectHome(machine, name);
          return (await home?.call('info', {}))?.warnings.some((one) => one.includes('takes no writes')) === true;
        }),
      );
      return warned.filter(Boolean).length;
    };
    for (const name of NAMES) await world.asks(name, `said-${name}`, `re: said-${name}`);
    for (const n of [1, 2]) {
      proxy.cut();
      await waitFor(() => notices() === n, { what: 'the notice' });
      await waitFor(async () => (await troubled()) === NAMES.length, { what: 'all of them know' });
      for (const { telegram, name } of world.homes) telegram.userSays(OWNER, `said-${name}${n}`);
      expect(notices()).toBe(n);
      proxy.mend();
      for (const { name, answers } of world.homes)
        await waitFor(() => answers().includes(`re: said-${name}${n}`), { what: `the answer of ${name}` });
      await waitFor(() => allClear() === n, { what: 'the all-clear' });
    }
    await waitFor(async () => (await troubled()) === 0, { what: 'all of them know that it is over' });
    // One that had to say it would do so 5 s later.
    const until = performance.now() + 6_000;
    await waitFor(() => performance.now() > until);
    expect([notices(), allClear()]).toEqual([2, 2]);
  });

  test('are tried again at once when it is back, although their starts failed meanwhile', async () => {
    await using sockets = await tempFolder();
    await using proxy = await startProxy(await server.database(), sockets.path);
    await using world = await startMachines(`${proxy.url}&leaseSeconds=4`, NAMES);
    const machine = await world.machine('a');
    await machine.runs(NAMES.length);
    await world.asks('ada', 'said-first', 're: said-first');
    const starts = async (): Promise<boolean> => {
      const ada = (await machine.assistant.call('info', {})).homes?.find(({ name }) => name === 'ada');
      return ada?.state === 'failed' || ada?.state === 'starting';
    };
    world.home('ada').telegram.userSays(OWNER, '/restart');
    await waitFor(starts, { what: 'ada starts anew' });
    proxy.cut();
    await waitFor(
      async () =>
        (await machine.assistant.call('info', {})).homes?.find(({ name }) => name === 'ada')?.state === 'failed',
    );
    // Its attempts are 1, 2, 4 and 8 s apart, and the next one would be 16 s away by then.
    const until = performance.now() + 17_000;
    await waitFor(() => performance.now() > until);
    proxy.mend();
    const began = performance.now();
    await world.asks('ada', 'said-second', 're: said-second');
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(await machine.runs(NAMES.length)).toEqual(NAMES);
  });
});
