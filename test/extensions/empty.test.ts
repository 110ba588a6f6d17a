import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createAssistant, defineProvider, type ModelRequest } from '../../src/app.ts';
import { programOf } from '../../src/core/program.ts';
import { EXTENSIONS } from '../../src/extensions/index.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import type { Report } from '../doctor/doctor-home.ts';
import { runCommand } from '../support/command-run.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { startFakeAnthropic } from '../support/fake-anthropic.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const MAIN = fileURLToPath(new URL('../support/few-main.ts', import.meta.url));

const configOf = (url: string, vendor = 'openai') => ({
  agent: { model: `${vendor}/scripted-model` },
  providers: { [vendor]: { apiKey: 'test-key-0001', baseUrl: url } },
  gateway: { port: 0 },
});

describe('an extension that is left out', () => {
  test.each(EXTENSIONS)('$name: the assistant starts, answers and is looked over', async ({ name }) => {
    const rest = EXTENSIONS.filter((one) => one.name !== name);
    await using folder = await tempFolder();
    const home = join(folder.path, 'home');
    await mkdir(home, { mode: 0o700 });
    const vendor = name === 'openai' ? 'anthropic' : 'openai';
    await using model = await (vendor === 'openai' ? startFakeOpenAi() : startFakeAnthropic());
    model.reply('Hello.');
    await writeFile(join(home, 'config.json'), JSON.stringify(configOf(model.url, vendor)), { mode: 0o600 });
    {
      await using assistant = await createAssistant({
        extensions: rest,
        home,
        environment: { PATH: process.env['PATH'], HOME: folder.path },
        log: silentLog,
      });
      expect((await assistant.run('hi')).text).toBe('Hello.');
    }
    const { out, err } = await runCommand(['doctor', '--offline', '--json'], home, {}, programOf(rest));
    expect(err).toBe('');
    const { checks } = JSON.parse(out) as Pick<Report, 'checks'>;
    expect(checks.length).toBeGreaterThan(10);
    expect(checks.filter(({ id }) => id.startsWith(`${name}.`))).toEqual([]);
    expect(checks.filter(({ state }) => state === 'failed')).toEqual([]);
  });
});

describe('the core with no extension', () => {
  test('starts and answers', async () => {
    await using folder = await tempFolder();
    const requests: ModelRequest[] = [];
    const given = defineProvider({
      kind: 'given',
      open: () => ({
        async *chat(request) {
          requests.push(request);
          const response = { content: [{ type: 'text', text: 'Hello.' }], model: request.model, usage: null } as const;
          yield { type: 'end', stopReason: 'stop', response };
        },
      }),
    });
    await using assistant = await createAssistant({
      extensions: [],
      providers: [given],
      home: join(folder.path, 'home'),
      config: { agent: { model: 'given/one' }, gateway: { port: 0 } },
      environment: { PATH: process.env['PATH'], HOME: folder.path },
      log: silentLog,
    });
    const answer = await assistant.run('hi');
    expect(answer.text).toBe('Hello.');
    const tools = requests[0]?.tools.map(({ name }) => name);
    expect(tools).toContain('batch');
    for (const gone of [
      'read_file',
      'grep',
      'exec',
      'process',
      'spawn',
      'cron',
      'browser',
      'memory_write',
      'memory_search',
    ])
      expect(tools).not.toContain(gone);
    expect(requests[0]?.system.join('\n')).not.toContain('# Memory');
    await expect(assistant.call('cron', { action: 'list' })).rejects.toThrow('There is no operation "cron".');
  });

  test('says what it lacks where it is to find a model or a server by itself', async () => {
    await using folder = await tempFolder();
    const started = (model: string) =>
      createAssistant({
        extensions: [],
        home: join(folder.path, 'home'),
        config: { ...configOf('http://127.0.0.1:9/v1'), agent: { model } },
        environment: { PATH: process.env['PATH'], HOME: folder.path },
        log: silentLog,
      });
    await expect(started('auto')).rejects.toThrow('agent.model is "auto", and no provider of models has a key.');
    await expect(started('openai/any')).rejects.toThrow(
      'The provider "openai" needs to say what it is: no extension of this program speaks OpenAI\'s API, so an address is not enough.',
    );
  });

  test('with a vendor says that no channel is configured and, killed in the middle of a turn, answers when it starts again', async () => {
    await using folder = await tempFolder();
    const home = join(folder.path, 'home');
    await mkdir(home, { mode: 0o700 });
    const heard = Promise.withResolvers<void>();
    let calls = 0;
    await using model = await startFakeOpenAi({
      handler: async () => {
        calls += 1;
        if (calls > 1) return 'Still here.';
        heard.resolve();
        await new Promise((resolve) => setTimeout(resolve, 60_000).unref());
        return 'Too late.';
      },
    });
    await writeFile(join(home, 'config.json'), JSON.stringify(configOf(model.url)));
    const socket = join(home, 'control.sock');
    const children: ChildProcess[] = [];
    let log = '';
    await using _end = { [Symbol.asyncDispose]: async () => void children.map((child) => child.kill('SIGKILL')) };
    const start = async () => {
      const child = spawn(process.execPath, [MAIN, 'gateway', '--home', home], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: childEnvironment({ HOME: folder.path, EXTENSIONS: 'openai' }),
      });
      child.stderr.on('data', (chunk) => (log += String(chunk)));
      children.push(child);
      let found: Awaited<ReturnType<typeof connectAssistant>>;
      await waitFor(async () => (found = await connectAssistant(socket, systemClock)) !== undefined, {
        timeoutMs: 60_000,
        what: 'the gateway',
      });
      if (found === undefined) throw new Error('it does not listen');
      return found;
    };
    const first = await start();
    first
      .open('main')
      .send({ text: 'are you there?', keeps: true })
      .catch(() => {});
    await heard.promise;
    await waitFor(() => log.includes('no channel is configured'), { what: 'the line about channels' });
    children[0]?.kill('SIGKILL');
    await first[Symbol.asyncDispose]();
    const second = await start();
    const texts: string[] = [];
    using _attached = second.open('main', { onMessage: ({ text }) => void texts.push(text) });
    await waitFor(() => texts.includes('Still here.'), { timeoutMs: 60_000, what: `the answer in ${texts.join()}` });
    expect(calls).toBe(2);
    await second[Symbol.asyncDispose]();
  });
});
