import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';

export interface Child extends AsyncDisposable {
  /** From the spawn to the line that says ready, ms. */
  readonly readyMs: number;
  /** Resident memory, MiB. */
  memory(): number;
  /** Time on a processor since its start, of all its threads, ms. */
  cpuMs(): number;
  /** Bytes that it had written to files since its start. */
  writtenBytes(): number;
  signal(name: NodeJS.Signals): void;
  /** Resolves when it has ended. */
  ended(): Promise<void>;
}

/** Starts a program of Node and waits for its `"msg":"ready"` line on stderr, and until so many channels run. */
export async function startChild(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  channels = 0,
): Promise<Child> {
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
  });
  const readyMs = await ready(child, { began, channels });
  const proc = `/proc/${child.pid}`;
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null;
  const ended = async (): Promise<void> => {
    if (!hasEnded()) await once(child, 'exit');
  };
  return {
    readyMs,
    memory: () => Number(field(`${proc}/status`, /VmRSS:\s+(?<value>\d+)/u)) / 1024,
    cpuMs: () => onProcessorMs(child.pid ?? 0),
    writtenBytes: () => Number(field(`${proc}/io`, /\nwrite_bytes: (?<value>\d+)/u)),
    signal: (name) => void child.kill(name),
    ended,
    async [Symbol.asyncDispose]() {
      if (hasEnded()) return;
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 8_000);
      await ended();
      clearTimeout(timer);
    },
  };
}

function field(path: string, pattern: RegExp): string {
  return pattern.exec(readFileSync(path, 'utf8'))?.groups?.['value'] ?? '0';
}

/** Of all threads of a process that still run, since it started. */
export function onProcessorMs(pid: number): number {
  return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => sum + ofThread(`/proc/${pid}/task/${task}`), 0);
}

function ofThread(task: string): number {
  try {
    return Number(readFileSync(`${task}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  } catch {
    // The thread ended between the listing and the look.
    return 0;
  }
}

function ready(child: ChildProcess, { began, channels }: { began: number; channels: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = '';
    const read = (data: Buffer): void => {
      output += data.toString();
      const running = output.split('"msg":"channels: channel running"').length - 1;
      if (!output.includes('"msg":"ready"') || running < channels) return;
      child.stderr?.off('data', read).resume();
      resolve(performance.now() - began);
    };
    child.stderr?.on('data', read);
    child.once('exit', (code) => reject(new Error(`ended with ${code} before it was ready:\n${output}`)));
  });
}
