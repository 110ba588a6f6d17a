import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';

export interface Child extends AsyncDisposable {
  /** From the spawn to the line that says ready, ms. */
  readonly readyMs: number;
  /** Resident memory, MiB. */
  memory(): number;
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
  return {
    readyMs,
    memory: () => {
      const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
      return Number(/VmRSS:\s+(?<kb>\d+)/u.exec(status)?.groups?.['kb'] ?? 0) / 1024;
    },
    async [Symbol.asyncDispose]() {
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 8_000);
      await gone;
      clearTimeout(timer);
    },
  };
}

function ready(child: ChildProcess, { began, channels }: { began: number; channels: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = '';
    child.stderr?.on('data', (data: Buffer) => {
      output += data.toString();
      const running = output.split('"msg":"channels: channel running"').length - 1;
      if (output.includes('"msg":"ready"') && running >= channels) resolve(performance.now() - began);
    });
    child.once('exit', (code) => reject(new Error(`ended with ${code} before it was ready:\n${output}`)));
  });
}
