import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serversOf } from '../../src/host/homes/servers.ts';
import { startProxy, type Proxy } from '../homes/proxy.ts';
import { builtProgram } from './built-program.ts';
import { killHard, stopSoftly } from './crash-process.ts';
import { waitFor } from './wait.ts';

/** What the gateways of a storm share. */
export interface SharedWorld {
  readonly folder: string;
  /** Of the database. One that names several servers is used as it is, without the proxy. */
  readonly url: string;
  readonly leaseSeconds: number;
}

/** A gateway in a process and a folder of its own, which reaches PostgreSQL through a proxy. */
export class HomeGateway implements AsyncDisposable {
  readonly name: string;
  /** Those that it may run. */
  readonly homes: readonly string[];
  readonly proxy: Proxy;
  /** Its home, or the folder of its machine. */
  readonly folder: string;
  readonly isMachine: boolean;
  #child: ChildProcess | undefined;
  #log = '';

  private constructor(facts: Pick<HomeGateway, 'name' | 'homes' | 'proxy' | 'folder' | 'isMachine'>) {
    this.name = facts.name;
    this.homes = facts.homes;
    this.proxy = facts.proxy;
    this.folder = facts.folder;
    this.isMachine = facts.isMachine;
  }

  /**
   * Prepares its folder and proxy, and starts nothing yet. Its connections to PostgreSQL have its name. `config`: of the one home that
   * it runs; undefined for a machine of many, whose homes bring their own.
   */
  static async prepare(
    name: string,
    homes: readonly string[],
    { folder, url, leaseSeconds, config }: SharedWorld & { readonly config?: Readonly<Record<string, unknown>> },
  ): Promise<HomeGateway> {
    const isMachine = config === undefined;
    const own = isMachine ? join(folder, name) : join(folder, name, homes[0] ?? '');
    await mkdir(own, { recursive: true, mode: 0o700 });
    const sockets = join(folder, `${name}-db`);
    await mkdir(sockets);
    const [server = url, ...others] = serversOf(url);
    const proxy = await startProxy(server, sockets);
    const address = others.length > 0 ? url : proxy.url;
    const settings = {
      ...(isMachine ? { homes: { enabled: true } } : config),
      store: `${address}&application_name=${name}&leaseSeconds=${leaseSeconds}`,
      log: { level: 'info', format: 'json' },
    };
    await writeFile(join(own, 'config.json'), JSON.stringify(settings), { mode: 0o600 });
    return new HomeGateway({ name, homes, proxy, folder: own, isMachine });
  }

  /** The folder with its copy of a home. */
  copyOf(home: string): string {
    return this.isMachine ? join(this.folder, 'homes', home) : this.folder;
  }

  /** What it logged since its last start or fault. */
  get log(): string {
    return this.#log;
  }

  async start(): Promise<void> {
    const program = await builtProgram();
    this.#log = '';
    const child = spawn(process.execPath, [program.main, '--home', this.folder, 'gateway', '--port', '0'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: program.environment({ HOME: join(this.folder, '..'), STORM_GATEWAY: this.name }),
    });
    child.stderr.on('data', (data: Buffer) => (this.#log += data.toString()));
    this.#child = child;
  }

  /** Resolves when it said that it runs or waits since its last start or fault, or when this holds. */
  async settled(otherwise: () => Promise<boolean> = () => Promise.resolve(false)): Promise<void> {
    const known = (): boolean => /another gateway runs the home|"msg":"ready"/u.test(this.#log);
    try {
      await waitFor(async () => known() || (await otherwise()), { timeoutMs: 120_000 });
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

  /** Its process; undefined: it does not run. */
  get pid(): number | undefined {
    return this.#child?.pid;
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
