import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { builtProgram } from '../support/built-program.ts';
import { freePort } from '../support/free-port.ts';
import { waitFor } from '../support/wait.ts';

const NOTHING = { heartbeat: { enabled: false } };

/** The program in a folder of its own, as systemd starts it. */
export class Gateway implements AsyncDisposable {
  readonly home: string;
  readonly port: number;
  readonly child: ChildProcess;
  readonly #exited: Promise<unknown>;
  log = '';

  private constructor(home: string, port: number, child: ChildProcess) {
    this.home = home;
    this.port = port;
    this.child = child;
    this.#exited = once(child, 'exit');
    child.stderr?.on('data', (data: Buffer) => (this.log += data.toString()));
  }

  /** `config`: over that of a home in which nothing happens by itself. */
  static async start(folder: string, store: string, config: object = NOTHING): Promise<Gateway> {
    const home = join(folder, 'alice');
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeFile(join(home, 'config.json'), JSON.stringify({ store, ...config }));
    const notify = join(folder, 'systemd-notify');
    await writeFile(notify, '#!/bin/sh\nIFS="|"\necho "$*" >> "$NOTIFY_SOCKET"\n');
    await chmod(notify, 0o755);
    await rm(join(folder, 'notified'), { force: true });
    const program = await builtProgram();
    const port = await freePort();
    const child = spawn(process.execPath, [program.main, '--home', home, 'gateway', '--port', String(port)], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: program.environment({
        HOME: folder,
        NOTIFY_SOCKET: join(folder, 'notified'),
        WATCHDOG_USEC: '600000',
        PATH: `${folder}${delimiter}${process.env['PATH'] ?? ''}`,
      }),
    });
    return new Gateway(home, port, child);
  }

  /** What systemd was told. */
  async told(): Promise<readonly string[]> {
    const text = await readFile(join(this.home, '..', 'notified'), 'utf8').catch(() => '');
    return text.split('\n').filter((line) => line !== '');
  }

  async health(): Promise<{ readonly status: number; readonly body: Readonly<Record<string, unknown>> }> {
    const response = await fetch(`http://127.0.0.1:${this.port}/health`);
    return { status: response.status, body: (await response.json()) as Record<string, unknown> };
  }

  /** Resolves when /health says this. */
  async is(status: string): Promise<void> {
    await waitFor(async () => (await this.health()).body['status'] === status, { what: `${status} in /health` });
  }

  /** Runs a command line on its home. */
  async run(
    ...words: readonly string[]
  ): Promise<{ readonly code: unknown; readonly out: string; readonly err: string }> {
    const program = await builtProgram();
    const child = spawn(process.execPath, [program.main, '--home', this.home, ...words], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: program.environment({ HOME: join(this.home, '..') }),
    });
    const printed = { out: '', err: '' };
    child.stdout.on('data', (data: Buffer) => (printed.out += data.toString()));
    child.stderr.on('data', (data: Buffer) => (printed.err += data.toString()));
    const [code] = (await once(child, 'close')) as [unknown];
    return { code, ...printed };
  }

  /** Resolves with its exit code. */
  async ended(): Promise<number | null> {
    await this.#exited;
    return this.child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.#exited;
  }
}
