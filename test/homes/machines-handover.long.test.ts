import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { OWNER } from '../support/world.ts';
import { lastText, startMachines, type Machine, type MachinesWorld } from './machines-world.ts';

const programs = postgresPrograms();
const SIX = ['ada', 'bob', 'cleo', 'dora', 'emil', 'fred'];
/** A home that is handed over waits so long for its running turns. */
const DRAIN_MS = 30_000;

/** People write to all homes, one message after the other, until they are told to stop; resolves with what each home was asked. */
function talk(world: MachinesWorld): () => Promise<ReadonlyMap<string, readonly string[]>> {
  const asked = new Map<string, string[]>(world.homes.map(({ name }) => [name, []]));
  const over = new AbortController();
  const talks = world.homes.map(async ({ name }) => {
    for (let n = 1; !over.signal.aborted; n += 1) {
      const text = `said-${name}${n}`;
      asked.get(name)?.push(text);
      await world.asks(name, text, `re: ${text}`);
    }
  });
  return async () => {
    over.abort();
    await Promise.all(talks);
    return asked;
  };
}

/** A command that notes in a file outside of the homes in which folder it ran, and those folders so far. */
async function marks(
  { folder }: MachinesWorld,
  more = '',
): Promise<{ readonly command: string; readonly effects: () => Promise<readonly string[]> }> {
  const file = join(folder, 'effects.txt');
  await writeFile(file, '');
  const effects = async (): Promise<readonly string[]> => (await readFile(file, 'utf8')).split('\n').filter(Boolean);
  return { command: `echo "$PWD" >> ${file}${more}`, effects };
}

/**
 * Resolves when these machines run all six homes, and each of them some: how many, depends on what the homes have had to do.
 */
async function spread(machines: readonly Machine[]): Promise<void> {
  await waitFor(
    async () => {
      const running = await Promise.all(machines.map((one) => one.running()));
      return running.every((names) => names.length > 0) && running.flat().toSorted().join() === SIX.join();
    },
    { what: 'all homes run, on each machine some' },
  );
}

/** Resolves with the one home that the machine hands over. */
async function handedOver(machine: Machine): Promise<string> {
  const [name = ''] = await waitFor(async () => {
    const names = await machine.leaving();
    return names.length === 1 ? names : undefined;
  });
  return name;
}

describeWith('PostgreSQL')('a home that goes from one machine to another', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('goes over at most once when a third machine joins two, and no chat loses or repeats anything meanwhile', async () => {
    const url = await server.database();
    await using world = await startMachines(`${url}&leaseSeconds=6`, SIX);
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const epochs = async (): Promise<ReadonlyMap<string, number>> => {
      const rows = await postgres.query('SELECT name, epoch FROM assistant.homes');
      return new Map(rows.map((row) => [String(row['name']), Number(row['epoch'])]));
    };
    const machines = [await world.program('a'), await world.program('b')];
    await spread(machines);
    const end = talk(world);
    const before = await epochs();
    const c = await world.program('c');
    machines.push(c);
    await spread(machines);
    const asked = await end();
    await spread(machines);
    const after = await epochs();
    const moves = SIX.map((name) => [name, (after.get(name) ?? 0) - (before.get(name) ?? 0)] as const);
    for (const name of await c.running()) expect(moves).toContainEqual([name, 1]);
    expect(moves.filter(([, times]) => times > 1)).toEqual([]);
    for (const { name, replies } of world.homes)
      expect(replies()).toEqual(asked.get(name)?.map((text) => `re: ${text}`));
  });

  test('ends a turn first that takes less than 30 s, begins nothing meanwhile, and answers once', async () => {
    const store = `${await server.database()}&leaseSeconds=30`;
    await using world = await startMachines(store, ['ada', 'bob'], { tools: { exec: { mode: 'full' } } });
    const { command, effects } = await marks(world);
    const slow = Promise.withResolvers<void>();
    world.model.setHandler(async ({ body, view }) => {
      const text = lastText(body);
      if (!text.includes('slow')) return `re: ${text}`;
      if (view.toolResults.length === 0) return { calls: [{ name: 'exec', arguments: { command } }] };
      await slow.promise;
      return `re: ${text}`;
    });
    const a = await world.program('a');
    await a.runs(2);
    for (const { telegram } of world.homes) telegram.userSays(OWNER, 'said-slow');
    await waitFor(async () => world.model.inFlight === 2 && (await effects()).length === 2, { what: 'both turns run' });
    const asked = world.model.requests.length;
    const b = await world.program('b');
    const { name, telegram, replies } = world.home(await handedOver(a));
    telegram.userSays(OWNER, 'said-later');
    await waitFor(() => telegram.unconfirmed.length === 0, { what: 'the message is taken' });
    expect(await b.running()).toEqual([]);
    expect(world.model.requests).toHaveLength(asked);
    slow.resolve();
    expect(await b.runs(1)).toEqual([name]);
    await waitFor(() => replies().length >= 2);
    expect(replies()).toEqual(['re: said-slow', 're: said-later']);
    // Two requests of each turn, and one for the message after.
    expect(world.model.requests).toHaveLength(asked + 1);
    expect((await effects()).map((folder) => folder.startsWith(a.folder))).toEqual([true, true]);
    await a.runs(1);
  });

  test('ends a turn that takes longer; it goes on where the home runs next, which knows that a command was interrupted', async () => {
    const store = `${await server.database()}&leaseSeconds=120`;
    await using world = await startMachines(store, ['ada', 'bob'], { tools: { exec: { mode: 'full' } } });
    const { command, effects } = await marks(world, '; sleep 300');
    world.model.setHandler(({ body, view }) => {
      const text = lastText(body);
      if (!text.includes('long')) return `re: ${text}`;
      const result = view.toolResults.at(-1)?.text;
      if (result === undefined) return { calls: [{ name: 'exec', arguments: { command } }] };
      return `re: ${/interrupted/u.exec(result)?.[0] ?? result}`;
    });
    const clock = new SkippingClock();
    const a = await world.machine('a', { clock });
    await a.runs(2);
    for (const { telegram } of world.homes) telegram.userSays(OWNER, 'said-long');
    await waitFor(async () => (await effects()).length === 2, { what: 'both commands run' });
    const b = await world.machine('b');
    const { name, answers } = world.home(await handedOver(a));
    expect(await b.running()).toEqual([]);
    clock.skip(DRAIN_MS);
    expect(await b.runs(1)).toEqual([name]);
    await waitFor(() => answers().some((text) => text.startsWith('re: interrupted')));
    await world.asks(name, 'said-more', 're: said-more');
    expect(answers()).toEqual([
      expect.stringMatching(/^I was stopped while exec was running/u),
      expect.stringMatching(/^re: interrupted/u),
      're: said-more',
    ]);
    expect(await effects()).toHaveLength(2);
    // The other one goes on.
    expect(await a.running()).toHaveLength(1);
  });
});
