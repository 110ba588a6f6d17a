import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { builtProgram } from '../support/built-program.ts';
import { freePort } from '../support/free-port.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';
import { startMachines } from './machines-world.ts';

const programs = postgresPrograms();
/** What the gateway of a machine makes in its folder. */
const OWN = ['config.json', 'control.sock', 'homes', 'lock', 'lock.holder', 'logs', 'store.json'];

describeWith('PostgreSQL')('the program in the folder of a machine', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('counts its homes in /health, has people name one, and gives them back when it is stopped', async () => {
    const store = `${await server.database()}&leaseSeconds=30`;
    await using world = await startMachines(store, ['ada', 'bob']);
    const folder = join(world.folder, 'machine');
    await mkdir(folder, { mode: 0o700 });
    await writeFile(join(folder, 'config.json'), JSON.stringify({ store, homes: { enabled: true } }), { mode: 0o600 });
    const program = await builtProgram();
    const port = await freePort();
    const env = program.environment({ HOME: world.folder });
    const gateway = spawn(process.execPath, [program.main, '--home', folder, 'gateway', '--port', String(port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env,
    });
    const exited = once(gateway, 'exit');
    let log = '';
    gateway.stderr.on('data', (data: Buffer) => (log += data.toString()));
    const run = async (...words: readonly string[]): Promise<{ code: unknown; out: string; err: string }> => {
      const child = spawn(process.execPath, [program.main, ...words], { stdio: ['ignore', 'pipe', 'pipe'], env });
      const printed = { out: '', err: '' };
      child.stdout.on('data', (data: Buffer) => (printed.out += data.toString()));
      child.stderr.on('data', (data: Buffer) => (printed.err += data.toString()));
      const [code] = (await once(child, 'close')) as [unknown];
      return { code, ...printed };
    };
    try {
      const health = async (): Promise<unknown> => await (await fetch(`http://127.0.0.1:${port}/health`)).json();
      const counts = { running: 2, starting: 0, failed: 0, leaving: 0, waiting: 0 };
      await waitFor(
        async () => expect(await health()).toMatchObject({ status: 'ok', homes: counts, failed: {} }) ?? true,
      );
      expect(await run('chat', '--home', folder, '-m', 'hi')).toEqual({
        code: 1,
        out: '',
        err: `${folder} is the folder of a machine with many homes. Name one of them: --agent NAME. Here run: ada, bob.\n`,
      });
      for (const words of [['sessions'], ['memory'], ['init', '--yes'], ['backup'], ['prompt'], ['cron', 'list']])
        expect(await run(...words, '--home', folder)).toMatchObject({
          code: 1,
          out: '',
          err: expect.stringContaining('Name one of them: --agent NAME. Here run: ada, bob.'),
        });
      expect((await readdir(folder)).toSorted()).toEqual(OWN);
      const named = ['--home', folder, '--agent', 'ada'];
      expect(await run(...named, 'chat', '-m', 'said-there')).toMatchObject({ code: 0, out: 're: said-there\n' });
      expect(await run(...named, 'config', 'get', 'agent.model')).toMatchObject({
        code: 0,
        out: expect.stringContaining('openai/scripted-model'),
      });
      expect(JSON.parse((await run(...named, 'status', '--json')).out)).toMatchObject({
        running: true,
        home: join(folder, 'homes', 'ada'),
        store: { home: 'ada' },
      });
      const status = await run('status', '--home', folder, '--json');
      expect(JSON.parse(status.out)).toMatchObject({
        running: true,
        homes: [
          { name: 'ada', state: 'running', folder: join(folder, 'homes', 'ada') },
          { name: 'bob', state: 'running', folder: join(folder, 'homes', 'bob') },
        ],
      });
      expect(await run('status', '--home', join(folder, 'homes', 'ada'))).toMatchObject({ code: 0 });
      expect((await run('chat', '--home', join(folder, 'homes', 'ada'), '-m', 'said-here')).code).toBe(0);
      expect(log).toContain('"home":"ada"');
      expect(await readFile(join(folder, 'logs', 'assistant.log'), 'utf8')).toContain('"homes"');
    } finally {
      gateway.kill('SIGTERM');
    }
    const began = performance.now();
    expect(await exited).toEqual([0, null]);
    expect(performance.now() - began).toBeLessThan(10_000);
    // No gateway runs the homes there any more, and nobody but a gateway may.
    expect((await run('chat', '--home', join(folder, 'homes', 'ada'), '-m', 'hi')).err).toContain(
      'is the copy of a home that gateways of many homes run',
    );
    const next = await world.machine('next');
    await next.runs(2);
    expect(performance.now() - began).toBeLessThan(25_000);
  });
});
