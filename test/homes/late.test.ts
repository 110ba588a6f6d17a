import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import type { Answer } from '../support/model-script.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';
import { startProxy, type Proxy } from './proxy.ts';

const programs = postgresPrograms();
const FRIEND = 43;

interface Scene extends AsyncDisposable {
  readonly world: World;
  readonly proxy: Proxy;
  readonly postgres: Postgres;
  /** Outside of the home, for what commands do. */
  readonly outside: string;
  readonly restarts: () => number;
  /** Of tools, in the moment in which they end. */
  readonly results: readonly string[];
}

describeWith('PostgreSQL')('a gateway that PostgreSQL does not answer any more', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  const open = async (): Promise<Scene> => {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await tempFolder());
    const url = await server.database();
    const sockets = join(folder.path, 'db');
    const outside = join(folder.path, 'outside');
    await Promise.all([mkdir(sockets), mkdir(outside)]);
    const proxy = stack.use(await startProxy(url, sockets));
    const postgres = stack.use(await Postgres.open(url, { clock: systemClock }));
    let restarts = 0;
    const results: string[] = [];
    const people = [String(OWNER), String(FRIEND)];
    const world = stack.use(
      await startWorld({
        config: {
          store: `${proxy.url}&leaseSeconds=2`,
          channels: { telegram: { allowFrom: people, owners: people } },
          tools: { exec: { mode: 'full', maxConcurrent: 1 } },
          heartbeat: { enabled: false },
        },
        hooks: [
          {
            owner: 'results',
            hooks: {
              afterTool: (_turn, _call, { output }) => {
                results.push(output);
                return undefined;
              },
            },
          },
        ],
        onRestart: () => (restarts += 1),
      }),
    );
    const owned = stack.move();
    return {
      world,
      proxy,
      postgres,
      outside,
      restarts: () => restarts,
      results,
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  };
  const leaseEnds = async ({ postgres }: Scene): Promise<void> => {
    const over = 'SELECT lease_until < now() AS over FROM assistant.homes';
    await waitFor(async () => (await postgres.query(over))[0]?.['over'] === true, { what: 'the end of the lease' });
  };
  const leaseGrows = async ({ postgres }: Scene): Promise<void> => {
    const until = async (): Promise<string> =>
      String((await postgres.query('SELECT lease_until::text FROM assistant.homes'))[0]?.['lease_until']);
    const before = await until();
    await waitFor(async () => (await until()) !== before, { what: 'a renewal' });
  };
  const anotherClaims = async ({ postgres }: Scene): Promise<void> => {
    await postgres.query("UPDATE assistant.homes SET epoch = epoch + 1, owner = 'another', lease_until = now()");
  };
  const run = (command: string, more = {}): Answer => ({ calls: [{ name: 'exec', arguments: { command, ...more } }] });

  test('starts no command that waited for its turn while the lease ran out, and says so', async () => {
    await using scene = await open();
    const { world, proxy, outside } = scene;
    const [first, go, late] = ['first', 'go', 'late'].map((name) => join(outside, name));
    world.model.setHandler(({ view }) => {
      if (view.toolResults.length > 0) return `Done: ${view.toolResults.at(-1)?.text}`;
      return view.lastUserText.includes('slow')
        ? run(`touch ${first}; until [ -e ${go} ]; do sleep 0.05; done`)
        : run(`touch ${late}`);
    });
    world.telegram.userSays(OWNER, 'the slow one');
    await waitFor(() => existsSync(String(first)), { what: 'the first command' });
    world.telegram.userSays(FRIEND, 'the late one');
    const waits = async (): Promise<boolean> =>
      (await world.tape(`telegram:${FRIEND}`).catch(() => [])).some(({ kind }) => kind === 'intent');
    await waitFor(waits, { what: 'the second command is to run' });
    // What was written before is known to be durable by then, so that nothing but the first command is waited for.
    for (let n = 0; n < 2; n += 1) await leaseGrows(scene);
    proxy.stall();
    await leaseEnds(scene);
    await writeFile(String(go), '');
    await waitFor(() => scene.results.length === 2, { what: 'the result of the second command' });
    expect(existsSync(String(late))).toBe(false);
    proxy.mend();
    const answer = await waitFor(() => chatOf(world, FRIEND).find((text) => text.startsWith('Done')));
    expect(answer).toContain('nothing was begun');
    expect(existsSync(String(late))).toBe(false);
    expect(scene.restarts()).toBe(0);
  });

  test('leaves Telegram to the next gateway when its lease ran out, and asks it again when the lease is renewed', async () => {
    await using scene = await open();
    const { world, proxy } = scene;
    await waitFor(() => world.telegram.polling);
    proxy.stall();
    await waitFor(() => !world.telegram.polling, { what: 'Telegram is left alone' });
    const asked = world.telegram.calls.length;
    await leaseEnds(scene);
    expect(world.telegram.calls.length).toBe(asked);
    proxy.mend();
    await waitFor(() => world.telegram.polling, { what: 'Telegram is asked again' });
    world.model.reply('here I am');
    world.telegram.userSays(OWNER, 'hello?');
    await waitFor(() => chatOf(world).includes('here I am'));
  });

  test.each([
    ['a command', {}],
    ['a command in the background', { background: true }],
  ])('ends %s that runs when another gateway took the home', async (_, how) => {
    await using scene = await open();
    const { world, outside } = scene;
    const pid = join(outside, 'pid');
    await rm(pid, { force: true });
    world.model.setHandler(({ view }) =>
      view.toolResults.length > 0 ? 'it runs' : run(`echo $$ > ${pid}; exec sleep 600`, how),
    );
    world.telegram.userSays(OWNER, 'run it');
    const id = await waitFor(async () => Number(await readFile(pid, 'utf8').catch(() => '')) || undefined);
    await anotherClaims(scene);
    await waitFor(() => !existsSync(`/proc/${id}`), { what: 'the end of the command' });
    await waitFor(() => scene.restarts() > 0, { what: 'the new start' });
  });
});
