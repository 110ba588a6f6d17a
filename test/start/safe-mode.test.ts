import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { builtProgram } from '../support/built-program.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const program = await builtProgram();
const run = promisify(execFile);
const long = { timeoutMs: 60_000 };

interface Gateway {
  readonly process: ChildProcess;
  readonly ended: Promise<NodeJS.Signals | null>;
  /** How often it became ready. */
  readonly starts: () => number;
}

function startGateway(env: NodeJS.ProcessEnv): Gateway {
  const gateway = spawn(process.execPath, [program.launcher, 'gateway', '--port', '0'], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  gateway.stderr.on('data', (chunk) => (log += String(chunk)));
  return {
    process: gateway,
    ended: new Promise((resolve) => gateway.once('exit', (_code, signal) => resolve(signal))),
    starts: () => log.split('"msg":"ready"').length - 1,
  };
}

/** Breaks down twice in truth; the file of starts then gets the rest of five as it has these two. */
async function breakDown(home: string, start: () => Promise<void>): Promise<void> {
  for (let n = 0; n < 2; n += 1) await start();
  const file = join(home, '.starts');
  const starts = (await readFile(file, 'utf8')).split(' ');
  expect(starts).toHaveLength(2);
  await writeFile(file, [...starts, ...Array.from({ length: 3 }, () => starts[1])].join(' '));
}

test('a plugin that kills the program at each start is left out at the sixth: it answers, says so, and /restart tries it again', async () => {
  await using folder = await tempFolder();
  const home = join(folder.path, 'home');
  const plugin = join(home, 'plugins', 'deadly');
  await mkdir(plugin, { recursive: true });
  await writeFile(join(plugin, 'package.json'), '{"name":"deadly","assistant":{"plugin":"./index.mjs"}}');
  await writeFile(join(plugin, 'index.mjs'), "process.kill(process.pid, 'SIGKILL');");
  await writeFile(join(home, 'config.json'), '{"plugins":["deadly"]}');
  const env = program.environment({ HOME: folder.path, ASSISTANT_HOME: home });
  const say = async (text: string): Promise<string> =>
    (await run(process.execPath, [program.launcher, 'chat', '-m', text], { env })).stdout;
  const status = async (): Promise<string> =>
    (await run(process.execPath, [program.launcher, 'status'], { env })).stdout;
  const plugins = async (): Promise<string> =>
    (await run(process.execPath, [program.launcher, 'plugins'], { env })).stdout;

  await breakDown(home, async () => {
    const { ended, starts } = startGateway(env);
    expect(await ended).toBe('SIGKILL');
    expect(starts()).toBe(0);
  });
  const gateway = startGateway(env);
  try {
    await waitFor(() => gateway.starts() === 1, { ...long, what: 'the sixth start' });
    expect(await status()).toMatch(/I am in safe mode, because I was started 6 times within five minutes/u);
    expect(await plugins()).toMatch(/^deadly.*: not loaded, because the assistant runs in safe mode/u);
    expect(await say('/help')).toContain('/status');
    expect(await say('/status')).toMatch(/⚠ I am in safe mode/u);

    await writeFile(join(plugin, 'index.mjs'), "export default { name: 'deadly' };");
    expect(await say('/restart')).toContain('Restarting.');
    await waitFor(() => gateway.starts() === 2, { ...long, what: 'the start after /restart' });
    expect(await status()).not.toMatch(/safe mode/u);
    expect(await plugins()).toMatch(/^deadly.*: running/u);
  } finally {
    if (gateway.process.exitCode === null && gateway.process.kill('SIGTERM')) await gateway.ended;
  }
}, 180_000);

test('an error that nobody caught counts as a start that broke down, though the program still stops in order', async () => {
  await using folder = await tempFolder();
  const home = join(folder.path, 'home');
  const plugin = join(home, 'plugins', 'late');
  await mkdir(plugin, { recursive: true });
  await writeFile(join(plugin, 'package.json'), '{"name":"late","assistant":{"plugin":"./index.mjs"}}');
  const text = "setTimeout(() => { throw new Error('too late'); }, 1_500); export default { name: 'late' };";
  await writeFile(join(plugin, 'index.mjs'), text);
  await writeFile(join(home, 'config.json'), '{"plugins":["late"]}');
  const env = program.environment({ HOME: folder.path, ASSISTANT_HOME: home });
  await breakDown(home, async () => {
    const { process: gateway, ended } = startGateway(env);
    expect(await ended).toBeNull();
    expect(gateway.exitCode).toBe(1);
  });
  const gateway = startGateway(env);
  try {
    await waitFor(() => gateway.starts() === 1, { ...long, what: 'the sixth start' });
    const { stdout } = await run(process.execPath, [program.launcher, 'status'], { env });
    expect(stdout).toMatch(/I am in safe mode, because I was started 6 times within five minutes/u);
  } finally {
    if (gateway.process.exitCode === null && gateway.process.kill('SIGTERM')) await gateway.ended;
  }
}, 180_000);
