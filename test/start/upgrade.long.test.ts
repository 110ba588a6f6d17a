import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { copyPackage, npm, packVersion } from '../support/packages.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);
const OLD = '0.1.1';
const NEW = '0.1.2';

let folder: string;
const tarballs = new Map<string, string>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'assistant-upgrade-'));
  const built = join(folder, 'built');
  await copyPackage(built);
  for (const version of [OLD, NEW]) tarballs.set(version, await packVersion(built, version));
  // Starts nowhere.
  const dead = await packVersion(built, '0.2.0', (at) => writeFile(join(at, 'dist', 'main.js'), 'process.exit(1);'));
  // Passes its trial and ends soon after its start as a gateway.
  const shortLived = await packVersion(built, '0.3.0', async (at) => {
    const main = join(at, 'dist', 'main.js');
    const text = await readFile(main, 'utf8');
    await writeFile(
      main,
      `if (process.argv.includes('gateway')) setTimeout(() => process.exit(1), 4000);\n${text.replace(/^#!.*/u, '')}`,
    );
  });
  tarballs.set('0.2.0', dead).set('0.3.0', shortLived);
}, 300_000);

afterAll(() => rm(folder, { recursive: true, force: true }));

interface Machine extends AsyncDisposable {
  readonly home: string;
  readonly command: string;
  readonly env: NodeJS.ProcessEnv;
  /** Starts the gateway and, like a supervisor, starts it again whenever it ends. */
  supervise(): void;
  version(): Promise<string | undefined>;
}

/** A machine where npm installed the old version. */
async function machine(): Promise<Machine> {
  const temp = await tempFolder();
  const home = join(temp.path, 'home');
  const prefix = join(temp.path, 'prefix');
  await mkdir(home, { mode: 0o700 });
  await writeFile(join(home, 'config.json'), '{}', { mode: 0o600 });
  await npm(temp.path, 'install', '--global', '--prefix', prefix, tarballs.get(OLD) ?? '');
  const env = childEnvironment({
    HOME: temp.path,
    ASSISTANT_HOME: home,
    npm_config_offline: 'true',
    PATH: `${join(process.execPath, '..')}:${process.env['PATH'] ?? ''}`,
  });
  const command = join(prefix, 'bin', 'assistant');
  let child: ChildProcess | undefined;
  let isOver = false;
  const start = (): void => {
    child = spawn(command, ['gateway', '--port', '0'], { env, stdio: 'ignore' });
    child.once('exit', () => {
      if (!isOver) setTimeout(start, 500);
    });
  };
  return {
    home,
    command,
    env,
    supervise: start,
    version: async () => {
      await using assistant = await connectAssistant(homePaths(home).socket, systemClock).catch(() => undefined);
      return (await assistant?.call('info', {}))?.version;
    },
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      const ended = new Promise((resolve) => child?.once('exit', resolve));
      if (child?.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await ended;
      await temp[Symbol.asyncDispose]();
    },
  };
}

const upgrade = ({ command, env }: Machine, ...words: readonly string[]) =>
  run(command, ['upgrade', ...words], { env }).then(
    ({ stdout, stderr }) => ({ code: 0, said: stdout + stderr }),
    ({ code, stdout, stderr }: { readonly code: number; readonly stdout: string; readonly stderr: string }) => ({
      code,
      said: stdout + stderr,
    }),
  );

describe('assistant upgrade with real packages', () => {
  test('a running gateway becomes the new version, with its home, and every command is the new one', async () => {
    await using here = await machine();
    here.supervise();
    await waitFor(async () => (await here.version()) === OLD, { timeoutMs: 60_000, what: 'the old version' });
    await run(here.command, ['chat', '-m', 'write hello to notes.txt'], { env: here.env });
    const { code, said } = await upgrade(here, tarballs.get(NEW) ?? '');
    expect([code, said]).toEqual([0, expect.stringContaining(`Version ${NEW} runs.`)]);
    expect(await here.version()).toBe(NEW);
    const { stdout } = await run(here.command, ['--version'], { env: here.env });
    expect(stdout).toBe(`${NEW}\n`);
    expect(await readFile(join(here.home, 'workspace', 'notes.txt'), 'utf8')).toContain('hello');
    expect((await readdir(join(here.home, 'backups'))).filter((name) => name.startsWith('upgrade-'))).toHaveLength(1);
    expect((await upgrade(here, tarballs.get(NEW) ?? '')).said).toBe(`Version ${NEW} is what you have.\n`);
    // And back, while the program that npm installed still is the old one.
    expect((await upgrade(here, tarballs.get(OLD) ?? '')).said).toContain(`Version ${OLD} runs.`);
    expect(await here.version()).toBe(OLD);
  }, 240_000);

  test('a version that does not start on a copy changes nothing', async () => {
    await using here = await machine();
    here.supervise();
    await waitFor(async () => (await here.version()) === OLD, { timeoutMs: 60_000, what: 'the old version' });
    const { code, said } = await upgrade(here, tarballs.get('0.2.0') ?? '');
    expect([code, said]).toEqual([1, expect.stringContaining('Version 0.2.0 did not start on a copy of the home')]);
    expect(await here.version()).toBe(OLD);
    expect(await readdir(join(here.home, 'programs'))).not.toContain('current.json');
  }, 120_000);

  test('a version that ends soon after its start is left again', async () => {
    await using here = await machine();
    here.supervise();
    await waitFor(async () => (await here.version()) === OLD, { timeoutMs: 60_000, what: 'the old version' });
    const { code, said } = await upgrade(here, tarballs.get('0.3.0') ?? '');
    expect([code, said]).toEqual([1, expect.stringContaining(`Version ${OLD} runs again, with the home as it is.`)]);
    expect(await here.version()).toBe(OLD);
  }, 240_000);

  test('an upgrade that is killed at any moment leaves a gateway that runs, and the next upgrade works', async () => {
    await using here = await machine();
    here.supervise();
    await waitFor(async () => (await here.version()) === OLD, { timeoutMs: 60_000, what: 'the old version' });
    for (const words of ['is installed beside', 'is backed up', 'starts on a copy']) {
      const child = spawn(here.command, ['upgrade', tarballs.get('0.3.0') ?? ''], { env: here.env });
      let said = '';
      child.stdout.on('data', (chunk) => (said += String(chunk)));
      const ended = new Promise((resolve) => child.once('exit', resolve));
      await waitFor(() => said.includes(words), { timeoutMs: 90_000, what: words });
      await delay(1_500);
      child.kill('SIGKILL');
      await ended;
      // The one that ends after 4 seconds is left by the launcher itself after three starts.
      await waitFor(async () => (await here.version()) === OLD, {
        timeoutMs: 90_000,
        what: `the old one after: ${words}`,
      });
      await delay(6_000);
      await waitFor(async () => (await here.version()) === OLD, { timeoutMs: 90_000, what: `still, after: ${words}` });
    }
    expect((await upgrade(here, tarballs.get(NEW) ?? '')).said).toContain(`Version ${NEW} runs.`);
    expect(await here.version()).toBe(NEW);
  }, 500_000);
});
