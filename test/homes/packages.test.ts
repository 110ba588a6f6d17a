import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAssistant, type Assistant } from '../../src/app.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { describeWith } from '../support/test-with.ts';
import { putWater } from '../extensions/water-package.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const programs = postgresPrograms();

describeWith('PostgreSQL')('a package of a home in PostgreSQL', { timeout: 300_000 }, () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  const drink = { name: 'drink', dryRun: false, arguments: '{"note":"tea"}', onApproval: async () => true };
  const water = (assistant: Assistant): Promise<unknown> => assistant.call('water' as 'info', {});

  test('runs with its settings, tables and rows on a machine that was empty, and again on the first', async () => {
    const store = await server.database();
    await using folder = await tempFolder();
    const config = { store, agent: { model: 'demo/scripted' }, water: { goal: 3 } };
    const at = (machine: string): string => join(folder.path, machine, 'alice');
    const start = (machine: string): Promise<Assistant> =>
      createAssistant({ home: at(machine), environment: { HOME: folder.path }, log: silentLog });
    await mkdir(at('first'), { recursive: true, mode: 0o700 });
    await putWater(at('first'), config);
    {
      await using assistant = await start('first');
      expect(await water(assistant)).toEqual({ today: 0, goal: 3 });
      await assistant.call('toolRun', drink);
      expect(await water(assistant)).toEqual({ today: 1, goal: 3 });
    }
    await mkdir(at('second'), { recursive: true, mode: 0o700 });
    await writeFile(join(at('second'), 'config.json'), await readFile(join(at('first'), 'config.json')));
    {
      await using assistant = await start('second');
      expect((await assistant.call('info', {})).warnings.join()).not.toContain('water');
      expect(await water(assistant)).toEqual({ today: 1, goal: 3 });
      await assistant.call('toolRun', drink);
    }
    await using assistant = await start('first');
    expect(await water(assistant)).toEqual({ today: 2, goal: 3 });
  });

  test('that kills the process at each start is counted, though the files are brought from PostgreSQL each time', async () => {
    const store = `${await server.database()}&leaseSeconds=2`;
    await using folder = await tempFolder();
    const home = join(folder.path, 'alice');
    const plugin = join(home, 'plugins', 'deadly');
    await mkdir(home, { recursive: true, mode: 0o700 });
    const configure = (plugins: readonly string[]): Promise<void> =>
      writeFile(join(home, 'config.json'), JSON.stringify({ store, plugins, agent: { model: 'demo/scripted' } }));
    const start = (): Promise<Assistant> =>
      createAssistant({ home, environment: { HOME: folder.path }, log: silentLog });
    await configure([]);
    {
      // What lies in the folder when it stops is what PostgreSQL has.
      await using _healthy = await start();
      await mkdir(plugin, { recursive: true, mode: 0o700 });
      await writeFile(join(plugin, 'package.json'), '{"name":"deadly","assistant":{"plugin":"./index.mjs"}}');
      await writeFile(join(plugin, 'index.mjs'), "process.kill(process.pid, 'SIGKILL');");
    }
    await configure(['deadly']);
    const env = { ...childEnvironment({ HOME: folder.path }), ASSISTANT_HOME: home };
    for (let died = 1; died <= 2; died += 1) {
      const run = promisify(execFile)(process.execPath, [MAIN, 'chat', '-m', 'hi'], { env });
      await expect(run).rejects.toMatchObject({ signal: 'SIGKILL' });
      expect((await readFile(join(home, '.starts'), 'utf8')).split(' ')).toHaveLength(died);
    }
  });
});
