import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { builtProgram } from '../support/built-program.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const program = await builtProgram();
const run = promisify(execFile);

interface Gateway extends AsyncDisposable {
  readonly process: ChildProcess;
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** How often it became ready. */
  readonly starts: () => number;
  /** What it wrote to its log so far. */
  readonly log: () => string;
  readonly say: (text: string) => Promise<string>;
}

async function startGateway(): Promise<Gateway> {
  const folder = await tempFolder();
  const home = join(folder.path, 'home');
  const env = program.environment({ HOME: folder.path, ASSISTANT_HOME: home });
  const gateway = spawn(process.execPath, [program.launcher, 'gateway', '--port', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  gateway.stderr.on('data', (chunk) => (log += String(chunk)));
  const starts = (): number => log.split('"msg":"ready"').length - 1;
  const say = async (text: string): Promise<string> =>
    (await run(process.execPath, [program.launcher, 'chat', '-m', text], { env })).stdout;
  const started: Gateway = {
    process: gateway,
    home,
    env,
    starts,
    log: () => log,
    say,
    [Symbol.asyncDispose]: async () => {
      const ended = new Promise((resolve) => gateway.once('exit', resolve));
      if (gateway.exitCode === null && gateway.kill('SIGTERM')) await ended;
      await folder[Symbol.asyncDispose]();
    },
  };
  await waitFor(() => starts() === 1, { what: 'the first start' });
  return started;
}

describe('a running gateway', () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await startGateway();
  });
  afterAll(() => gateway[Symbol.asyncDispose]());

  test('/restart stays up while the configuration could not be started with, and says where it is wrong', async () => {
    const file = join(gateway.home, 'config.json');
    const wrong: readonly (readonly [text: string, said: string])[] = [
      ['{\n  "agent": { "maxIterations": "many" }\n}', `${file}:2:31: agent.maxIterations must be a whole number`],
      ['{\n  "agent": {\n', `${file}:3:1: `],
      ['{ "agent": { "model": "nobody/x" } }', 'names a provider that is not known: "nobody"'],
    ];
    for (const [text, said] of wrong) {
      await writeFile(file, text);
      const reply = await gateway.say('/restart');
      expect(reply).toContain('I did not restart');
      expect(reply).toContain(said);
    }
    expect([gateway.starts(), gateway.process.exitCode]).toEqual([1, null]);
    await writeFile(file, '{}');
  });

  test('/restart begins the gateway anew in its own process, and what it said arrives', async () => {
    expect(await gateway.say('/restart')).toContain('Restarting.');
    await waitFor(() => gateway.starts() === 2, { what: 'the second start' });
    expect(gateway.process.exitCode).toBeNull();
    const { stdout } = await run(process.execPath, [program.launcher, 'status', '--json'], { env: gateway.env });
    expect(JSON.parse(stdout)).toMatchObject({ running: true, pid: gateway.process.pid });
  });

  test('SIGHUP makes a running gateway read its configuration and the files that it names', async () => {
    const key = join(gateway.home, 'key');
    await writeFile(key, 'gsk-the-first-key-of-all');
    const file = join(gateway.home, 'config.json');
    const calm = gateway.log().length;
    await writeFile(
      file,
      '{ "providers": { "groq": { "apiKey": { "file": "key" } } }, "agent": { "model": "demo/scripted" } }',
    );
    await waitFor(() => gateway.log().slice(calm).includes('config: change applied'), {
      what: 'the change of the file',
    });
    const before = gateway.log().length;
    await writeFile(key, 'gsk-the-second-key-of-all');
    gateway.process.kill('SIGHUP');
    await waitFor(() => gateway.log().slice(before).includes('"startedAnew":["providers.groq"]'), {
      what: 'the new key',
    });
    expect(gateway.process.exitCode).toBeNull();
    expect(gateway.log()).not.toMatch(/the-(?:first|second)-key/u);
  });
});
