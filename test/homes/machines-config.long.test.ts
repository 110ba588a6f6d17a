import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { CommandLine } from '../cli/command-line.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { waitFor } from '../support/wait.ts';
import { OWNER } from '../support/world.ts';
import { connectHome, startMachines, type Machine, type MachineProgram } from './machines-world.ts';

const programs = postgresPrograms();

/** Runs a command line in a home whose gateway runs in whatever process; resolves with its exit code and all that it printed. */
async function commandIn(home: string, ...words: readonly string[]): Promise<{ code: number; said: string }> {
  const line = new CommandLine({ home });
  line.connect = (path) => connectAssistant(path, systemClock);
  const code = await line.run(...words);
  return { code, said: line.out + line.err };
}

/** The model that the assistant in this folder would answer with; undefined: none runs there. */
async function modelIn(home: string): Promise<string | undefined> {
  await using assistant = await connectAssistant(homePaths(home).socket, systemClock);
  return (await assistant?.call('info', {}))?.model;
}

const stateOf = async (machine: Machine, name: string): Promise<unknown> =>
  (await machine.info()).homes?.find((one) => one.name === name);

describeWith('PostgreSQL')('the settings of a home on a machine', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('are what the next machine loads, also when the first is killed right after the command was done', async () => {
    const url = await server.database();
    await using world = await startMachines(`${url}&leaseSeconds=2`, ['ada']);
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const runs = async ({ gateway }: MachineProgram, model: string): Promise<void> =>
      void (await waitFor(async () => (await modelIn(gateway.copyOf('ada'))) === model, {
        what: `${model} on ${gateway.name}`,
      }));
    const a = await world.program('a');
    await runs(a, 'openai/scripted-model');
    const set = await commandIn(a.gateway.copyOf('ada'), 'config', 'set', 'agent.model', 'openai/by-command');
    await a.gateway.kill();
    expect(set).toMatchObject({ code: 0, said: expect.not.stringContaining('⚠') });
    const b = await world.program('b');
    await runs(b, 'openai/by-command');
    // With an editor nothing is said; it is sent at once all the same.
    const file = join(b.gateway.copyOf('ada'), 'config.json');
    const edited = (await readFile(file, 'utf8')).replace('openai/by-command', 'openai/by-editor');
    await writeFile(file, edited);
    const hash = createHash('sha256').update(edited).digest('hex');
    const stored = "SELECT sha256 FROM assistant.files WHERE path = 'config.json'";
    const edit = performance.now();
    await waitFor(async () => (await postgres.query(stored))[0]?.['sha256'] === hash, { what: 'the edit is stored' });
    // All files are looked through once a minute; this does not wait for that.
    expect(performance.now() - edit).toBeLessThan(20_000);
    await b.gateway.kill();
    await a.gateway.start();
    await runs(a, 'openai/by-editor');
    expect(await readFile(join(a.gateway.copyOf('ada'), 'config.json'), 'utf8')).toBe(edited);
  });

  test('are not changed where the home does not run, because nobody would read that', async () => {
    const store = `${await server.database()}&leaseSeconds=4`;
    await using world = await startMachines(store, ['ada']);
    const a = await world.program('a');
    await a.runs(1);
    await a.stop();
    const home = join(a.folder, 'homes', 'ada');
    const before = await readFile(join(home, 'config.json'), 'utf8');
    for (const words of [
      ['config', 'set', 'agent.model', 'openai/another'],
      ['config', 'unset', 'heartbeat'],
      ['config', 'edit'],
    ]) {
      expect(await commandIn(home, ...words)).toMatchObject({
        code: 1,
        said: expect.stringContaining(
          `${home} is the copy of a home that gateways of many homes run, and the one of this machine does not run it now.`,
        ),
      });
    }
    expect(await readFile(join(home, 'config.json'), 'utf8')).toBe(before);
  });

  test('that name further assistants are refused with one sentence, and waited for at a start; other homes go on', async () => {
    const store = `${await server.database()}&leaseSeconds=4`;
    await using world = await startMachines(store, ['ada', 'bob']);
    const a = await world.program('a');
    await a.runs(2);
    const home = join(a.folder, 'homes', 'ada');
    const refused = 'Further assistants (agents) cannot be kept in a database yet';
    const set = await commandIn(home, 'config', 'set', 'agents.kim.routes', '["telegram:-1001"]');
    expect(set.said).toContain(`⚠ The assistant that runs did not take it up: ${refused}`);
    {
      await using ada = await connectHome(a, 'ada');
      expect((await ada?.call('info', {}))?.agents).toBeUndefined();
    }
    world.home('ada').telegram.userSays(OWNER, '/restart');
    const answers = (): string => world.home('ada').answers().join('\n');
    await waitFor(() => answers().includes('I did not restart'));
    expect(answers()).toContain(`could not start with the current configuration. ${refused}`);
    await a.stop();
    await a.gateway.start();
    const failed = { state: 'failed', detail: expect.stringContaining(refused) };
    await waitFor(async () => expect(await stateOf(a, 'ada')).toMatchObject(failed) ?? true);
    await world.asks('bob', 'said-meanwhile', 're: said-meanwhile');
    expect(await commandIn(home, 'config', 'unset', 'agents')).toMatchObject({ code: 0 });
    await a.runs(2);
    await world.asks('ada', 'said-mended', 're: said-mended');
  });

  test('that name no model which can be called are waited for too', async () => {
    const store = `${await server.database()}&leaseSeconds=4`;
    await using world = await startMachines(store, ['ada']);
    const a = await world.program('a');
    await a.runs(1);
    await world.asks('ada', 'said-before', 're: said-before');
    const file = join(a.folder, 'homes', 'ada', 'config.json');
    const good = await readFile(file, 'utf8');
    await writeFile(file, good.replace('openai/scripted-model', 'nowhere/model'));
    await waitFor(() =>
      world
        .home('ada')
        .answers()
        .some((text) => text.includes('nowhere')),
    );
    await a.stop();
    await a.gateway.start();
    const failed = { state: 'failed', detail: expect.stringContaining('nowhere') };
    await waitFor(async () => expect(await stateOf(a, 'ada')).toMatchObject(failed) ?? true);
    await writeFile(file, good);
    await a.runs(1);
    await world.asks('ada', 'said-mended', 're: said-mended');
  });
});
