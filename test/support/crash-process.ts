import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { builtProgram } from './built-program.ts';
import type { FakeTelegram } from './fake-telegram.ts';
import { waitFor } from './wait.ts';

/** Everybody who writes in a crash run; all are owners. */
export const CHATS = [101, 102, 103, 104];

export async function prepareHome(
  home: string,
  telegram: FakeTelegram,
  modelUrl: string,
  dialect: string,
  level = 'error',
): Promise<void> {
  await mkdir(join(home, 'workspace'), { recursive: true });
  const config = {
    agent: { model: `${dialect}/scripted-model` },
    providers: { [dialect]: { apiKey: 'test-key-0001', baseUrl: modelUrl } },
    channels: {
      telegram: {
        token: telegram.token,
        apiRoot: telegram.apiRoot,
        allowFrom: CHATS.map(String),
        owners: CHATS.map(String),
      },
    },
    tools: { exec: { mode: 'full' } },
    log: { level, format: 'json' },
  };
  await writeFile(join(home, 'config.json'), JSON.stringify(config));
}

/** Some sends are slow and some have to wait, so that kills fall before, into and after them. */
export function slowSends(telegram: FakeTelegram, random: () => number): void {
  telegram.setFaultHandler(({ method }) => {
    if (method !== 'sendMessage') return undefined;
    const dice = random();
    if (dice < 0.15) return { status: 429, retryAfter: 1 };
    return dice < 0.5 ? { delayMs: 10 + random() * 30 } : undefined;
  });
}

export interface ChildOptions {
  /** What a library between it and its disk is told. */
  readonly disk?: Readonly<Record<string, string>>;
  /** Names the machine's run. @default the real one */
  readonly boot?: string;
  /** The longest pause at each stage of a turn, milliseconds. @default 12 */
  readonly pauseMs?: number;
}

/** Starts the assistant without waiting for anything. */
export async function spawnChild(
  home: string,
  { disk = {}, boot, pauseMs = 12 }: ChildOptions = {},
): Promise<ChildProcess> {
  const program = await builtProgram();
  return spawn(
    process.execPath,
    [program.child('crash-child'), home, String(pauseMs), ...(boot === undefined ? [] : [boot])],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: program.environment(disk),
    },
  );
}

export async function startChild(home: string, options: ChildOptions = {}): Promise<ChildProcess> {
  const child = await spawnChild(home, options);
  let output = '';
  child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (output += data.toString()));
  await waitFor(() => output.includes('ready\n') || child.exitCode !== null, { timeoutMs: 120_000, what: 'ready' });
  if (child.exitCode !== null) throw new Error(`the assistant did not start:\n${output}`);
  return child;
}

/** The same, and how long it took: about so long does a step of this machine take now. */
export async function startTimed(
  home: string,
  options: ChildOptions = {},
): Promise<{ readonly child: ChildProcess; readonly startMs: number }> {
  const began = performance.now();
  const child = await startChild(home, options);
  return { child, startMs: performance.now() - began };
}

export async function killHard(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

export async function stopSoftly(child: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGTERM');
  await Promise.race([gone, delay(10_000, undefined, { ref: false })]);
  if (child.exitCode === null) child.kill('SIGKILL');
}

/** Mulberry32: small, seeded, good enough to spread kills. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}
