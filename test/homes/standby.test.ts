import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Postgres } from '../../src/homes/postgres.ts';
import { systemClock } from '../../src/util/clock.ts';
import { builtProgram } from '../support/built-program.ts';
import { freePort } from '../support/free-port.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const programs = postgresPrograms();
const WAITS = 'Another gateway runs the home alice. This one waits, and takes over by itself when the home is free.';

/** The program in a folder of its own, as systemd starts it. */
class Gateway implements AsyncDisposable {
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

  static async start(folder: string, store: string): Promise<Gateway> {
    const home = join(folder, 'alice');
    await mkdir(home, { recursive: true, mode: 0o700 });
    await writeFile(join(home, 'config.json'), JSON.stringify({ store, heartbeat: { enabled: false } }));
    const notify = join(folder, 'systemd-notify');
    await writeFile(notify, '#!/bin/sh\nIFS="|"\necho "$*" >> "$NOTIFY_SOCKET"\n');
    await chmod(notify, 0o755);
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

describe.skipIf(programs === undefined)('a gateway whose home another one runs', () => {
  let server: Server;
  beforeAll(async () => {
    server = await startPostgres(programs ?? '');
  });
  afterAll(async () => server?.[Symbol.asyncDispose]());

  test('says so in /health, to systemd and on the command line until it takes the home over', async () => {
    const store = `${await server.database()}&leaseSeconds=2`;
    await using one = await tempFolder();
    await using two = await tempFolder();
    await using first = await Gateway.start(one.path, store);
    await first.is('ok');
    await using second = await Gateway.start(two.path, store);
    await second.is('waiting');
    expect(await second.health()).toMatchObject({ status: 200, body: { waiting: WAITS, storage: 'ok', channels: {} } });
    // Told by a process of its own, after /health listens.
    await waitFor(async () => (await second.told()).length > 0, { what: 'a word to systemd' });
    expect((await second.told())[0]).toBe(`READY=1|STATUS=${WAITS}|WATCHDOG=1`);
    await waitFor(async () => (await second.told()).filter((line) => line === 'WATCHDOG=1').length > 2);
    const status = await second.run('status');
    expect(status.code).toBe(0);
    expect(status.out).toMatch(/^waits, process \d+/u);
    expect(status.out).toContain(WAITS);
    expect(JSON.parse((await second.run('status', '--json')).out)).toMatchObject({ running: true, waiting: WAITS });
    expect(await second.run('chat', '-m', 'hello')).toEqual({ code: 1, out: '', err: `${WAITS}\n` });
    expect(JSON.parse((await first.run('status', '--json')).out)).not.toHaveProperty('waiting');
    // A reload while it waits is no end.
    second.child.kill('SIGHUP');
    first.child.kill('SIGTERM');
    expect(await first.ended()).toBe(0);
    await second.is('ok');
    await waitFor(async () => (await second.told()).some((line) => line.includes('STATUS=demo/scripted')));
    expect(await second.health()).toMatchObject({ status: 200 });
    expect((await second.health()).body).not.toHaveProperty('waiting');
    expect((await second.run('chat', '-m', 'hello')).code).toBe(0);
  });

  test('is not waited for by a command that would run the assistant itself', async () => {
    const store = `${await server.database()}&leaseSeconds=2`;
    await using one = await tempFolder();
    await using two = await tempFolder();
    await using first = await Gateway.start(one.path, store);
    await first.is('ok');
    await using second = await Gateway.start(two.path, store);
    await second.is('waiting');
    second.child.kill('SIGTERM');
    expect(await second.ended()).toBe(0);
    expect(await second.run('chat', '-m', 'hello')).toEqual({
      code: 1,
      out: '',
      err: 'Another gateway runs the home alice. Talk to the assistant there, or in its chats.\n',
    });
  });

  test('ends with exit code 78 and a sentence when a folder has the home', async () => {
    const url = await server.database();
    const store = `${url}&leaseSeconds=2`;
    await using one = await tempFolder();
    await using two = await tempFolder();
    await using first = await Gateway.start(one.path, store);
    await first.is('ok');
    await using second = await Gateway.start(two.path, store);
    await second.is('waiting');
    await using postgres = await Postgres.open(url, { clock: systemClock });
    // As `assistant store migrate --to local` does.
    await postgres.query("UPDATE assistant.homes SET kept_by = 'someone', kept_at = '/srv/alice'");
    first.child.kill('SIGTERM');
    expect(await second.ended()).toBe(78);
    expect(second.log).toContain('The home alice is in /srv/alice, and the database has no more than an older');
  });
});
