import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startProxy, type Proxy } from '../homes/proxy.ts';
import { builtProgram } from './built-program.ts';
import { CHATS, killHard, stopSoftly } from './crash-process.ts';
import type { FakeModel } from './fake-model.ts';
import type { FakeTelegram } from './fake-telegram.ts';
import { waitFor } from './wait.ts';

/** Where the gateways of one home find what they share. */
export interface SharedWorld {
  readonly folder: string;
  /** Of the database. */
  readonly url: string;
  readonly leaseSeconds: number;
  readonly telegram: FakeTelegram;
  readonly model: FakeModel;
}

const HOME = 'alice';

/** A gateway in a process and a folder of its own, which reaches PostgreSQL through a proxy. */
export class HomeGateway implements AsyncDisposable {
  readonly name: string;
  readonly home: string;
  readonly proxy: Proxy;
  #child: ChildProcess | undefined;
  #log = '';

  private constructor(name: string, home: string, proxy: Proxy) {
    this.name = name;
    this.home = home;
    this.proxy = proxy;
  }

  /** Prepares its folder and proxy, and starts nothing yet. What it asks of Telegram has its name. */
  static async prepare(name: string, world: SharedWorld): Promise<HomeGateway> {
    const { folder, url, leaseSeconds, telegram, model } = world;
    const home = join(folder, name, HOME);
    await mkdir(home, { recursive: true, mode: 0o700 });
    const sockets = join(folder, `${name}-db`);
    await mkdir(sockets);
    const proxy = await startProxy(url, sockets);
    const people = CHATS.map(String);
    const apiRoot = `${telegram.apiRoot}/from/${name}`;
    const config = {
      store: `${proxy.url}&leaseSeconds=${leaseSeconds}`,
      agent: { model: 'openai/scripted-model' },
      providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
      channels: { telegram: { token: telegram.token, apiRoot, allowFrom: people, owners: people } },
      tools: { exec: { mode: 'full' } },
      heartbeat: { enabled: false },
      log: { level: 'info', format: 'json' },
    };
    await writeFile(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
    return new HomeGateway(name, home, proxy);
  }

  /** What it logged since its last start or fault. */
  get log(): string {
    return this.#log;
  }

  /** Under which name it claims, once it did. */
  async owner(): Promise<string | undefined> {
    const text = await readFile(join(this.home, 'store.json'), 'utf8').catch(() => '{}');
    return (JSON.parse(text) as { readonly owner?: string }).owner;
  }

  async start(): Promise<void> {
    const program = await builtProgram();
    this.#log = '';
    const child = spawn(process.execPath, [program.main, '--home', this.home, 'gateway', '--port', '0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: program.environment({ HOME: join(this.home, '..') }),
    });
    child.stderr.on('data', (data: Buffer) => (this.#log += data.toString()));
    this.#child = child;
  }

  /** Resolves when it waits for the home or runs it. */
  async settled(): Promise<void> {
    const known = (): boolean => /another gateway runs the home|"msg":"ready"/u.test(this.#log);
    try {
      await waitFor(known, { timeoutMs: 120_000 });
    } catch (error) {
      throw new Error(`the gateway ${this.name} neither waits nor runs:\n${this.#log.slice(-8_000)}`, { cause: error });
    }
  }

  async kill(): Promise<void> {
    if (this.#child !== undefined) await killHard(this.#child);
    this.#child = undefined;
    this.#log = '';
  }

  freeze(): void {
    this.#child?.kill('SIGSTOP');
    this.#log = '';
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Between it and PostgreSQL nothing passes any more; `closes`: the connections end too. */
  cut(closes: boolean): void {
    if (closes) this.proxy.cut();
    else this.proxy.stall();
    this.#log = '';
  }

  async stop(): Promise<void> {
    if (this.#child !== undefined) await stopSoftly(this.#child);
    this.#child = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child?.exitCode === null && this.#child.signalCode === null) await killHard(this.#child);
    await this.proxy[Symbol.asyncDispose]();
  }
}
