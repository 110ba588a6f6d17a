import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../src/core/util/errors.ts';
import { builtProgram } from './built-program.ts';
import { diskEnvironment } from './disk-library.ts';
import type { FakeModel } from './fake-model.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { startFakeTelegram, type FakeTelegram } from './fake-telegram.ts';
import { freePort } from './free-port.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

export const OWNER = 42;

/** Why small disks cannot be made here; null: they can. */
export function whyNoSmallDisks(): string | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'mounting a tmpfs needs root on Linux';
  const probe = '/tmp/assistant-test-mount';
  try {
    execFileSync('mkdir', ['-p', probe]);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', probe], { stdio: 'ignore' });
    execFileSync('umount', [probe]);
    return null;
  } catch {
    return 'mount -t tmpfs is refused here';
  }
}

/** A daemon in processes of its own whose home is on a disk that tests spoil, with a Bot API and a model server. */
export interface SmallDiskWorld extends AsyncDisposable {
  readonly home: string;
  /** Where HTTP is served. */
  readonly address: string;
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;
  /** Starts the gateway; what it logs is in `log`. */
  start(): void;
  /** Stops it as a service manager does. */
  stop(): Promise<void>;
  readonly log: () => string;
  readonly chat: (chatId?: number) => readonly string[];
  /** Status code and body of /health; undefined while nothing serves. */
  health(): Promise<{ readonly status: number; readonly storage: unknown } | undefined>;
  /** Runs a one-shot command in the home; its exit code and everything it printed. */
  run(...words: readonly string[]): Promise<{ readonly code: number | null; readonly said: string }>;
  /** Fills the disk to the last byte. */
  fill(): Promise<void>;
  free(): Promise<void>;
  /** A small disk is mounted anew, which the kernel refuses while the daemon runs; of a switched one all writes fail. */
  setReadOnly(isReadOnly: boolean): void;
}

export async function startSmallDisk(options: {
  /** Size of a disk of its own; `switched`: a folder that turns read-only under a running daemon. */
  readonly disk: { readonly megabytes: number } | 'switched';
  readonly people?: readonly number[];
}): Promise<SmallDiskWorld> {
  const people = options.people ?? [OWNER];
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const disk = join(folder.path, 'disk');
  await mkdir(disk);
  const trigger = join(folder.path, 'read-only');
  let library: Readonly<Record<string, string>> = {};
  if (options.disk === 'switched') {
    library = (await diskEnvironment({ home: disk, readOnly: trigger })) ?? {};
  } else {
    stack.use(mountSmallDisk(disk, options.disk.megabytes));
  }
  const telegram = stack.use(await startFakeTelegram());
  const model = stack.use(await startFakeOpenAi());
  model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
  const home = join(disk, 'home');
  const port = await freePort();
  await mkdir(join(home, 'workspace'), { recursive: true, mode: 0o700 });
  await writeFile(
    join(home, 'config.json'),
    JSON.stringify({
      agent: { model: 'openai/scripted-model', whenBusy: 'queue' },
      providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
      channels: {
        telegram: {
          token: telegram.token,
          apiRoot: telegram.apiRoot,
          allowFrom: people.map(String),
          owners: [String(OWNER)],
          stream: false,
        },
      },
      heartbeat: { enabled: false },
      gateway: { port },
      log: { level: 'info', format: 'json' },
    }),
  );
  let log = '';
  let child: ChildProcess | undefined;
  const program = await builtProgram();
  const launch = (words: readonly string[]): ChildProcess =>
    spawn(process.execPath, ['--disable-warning=ExperimentalWarning', program.main, ...words, '--home', home], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: program.environment({ HOME: folder.path, ...library }),
    });
  const stop = async (): Promise<void> => {
    const ending = child;
    if (ending === undefined) return;
    ending.kill('SIGTERM');
    const late = setTimeout(() => ending.kill('SIGKILL'), 15_000);
    await waitFor(() => ending.exitCode !== null || ending.signalCode !== null);
    clearTimeout(late);
    child = undefined;
  };
  stack.defer(stop);
  const ballast = join(disk, 'ballast');
  const owned = stack.move();
  return {
    home,
    address: `http://127.0.0.1:${port}`,
    telegram,
    model,
    start: () => {
      const started = launch(['gateway']);
      started.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()));
      child = started;
    },
    stop,
    log: () => log,
    chat: (chatId = OWNER) =>
      telegram.sentMessages.filter((sent) => sent.chatId === chatId).map((sent) => sent.visibleText),
    health: async () => {
      try {
        const response = await fetch(`http://127.0.0.1:${port}/health`);
        const body: unknown = await response.json();
        return { status: response.status, storage: Object(body).storage };
      } catch {
        return undefined;
      }
    },
    run: async (...words) => {
      const asked = launch(words);
      let said = '';
      asked.stdout?.on('data', (chunk: Buffer) => (said += chunk.toString()));
      asked.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()));
      const code = await new Promise<number | null>((resolve) => asked.once('close', resolve));
      return { code, said };
    },
    fill: () => fillUp(ballast),
    free: () => rm(ballast, { force: true }),
    setReadOnly: (isReadOnly) => {
      if (options.disk !== 'switched') execFileSync('mount', ['-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, disk]);
      else if (isReadOnly) writeFileSync(trigger, '');
      else rmSync(trigger, { force: true });
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** A disk of its own in place of a folder. */
export function mountSmallDisk(folder: string, megabytes: number): Disposable {
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  return { [Symbol.dispose]: () => void execFileSync('umount', ['-l', folder]) };
}

/** Large pieces first, then small ones, until not one byte more fits. */
export async function fillUp(path: string): Promise<void> {
  await using file = await open(path, 'a');
  for (const bytes of [1_048_576, 4_096, 1]) {
    try {
      for (;;) if ((await file.write(Buffer.alloc(bytes))).bytesWritten < bytes) break;
    } catch (error) {
      if (errorCode(error) !== 'ENOSPC') throw error;
    }
  }
}
