import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startChild, type Child } from './child.ts';
import { BENCH_TOKEN, type Peers } from './servers.ts';

/** Chats of owners; those of other numbers are guests. */
const OWNERS = { first: 1, most: 299 } as const;
export const GUEST = 9_001;

export interface Started {
  readonly channels?: Readonly<Record<string, unknown>>;
  /** Settings beside those that each home has. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Of the home's bot. @default `BENCH_TOKEN` */
  readonly token?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Waits until so many channels run. @default 0 */
  readonly running?: number;
  /** Further arguments of Node. */
  readonly node?: readonly string[];
  /** Prepares the home before the start. */
  readonly prepare?: (home: string) => Promise<void>;
  /** The program instead of the one that is measured. */
  readonly entry?: string;
}

/** Where the bench runs: its servers, a folder, and the program that it measures. */
export class World {
  readonly peers: Peers;
  readonly folder: string;
  readonly entry: string;
  #homes = 0;

  constructor({ peers, folder, entry }: { readonly peers: Peers; readonly folder: string; readonly entry: string }) {
    this.peers = peers;
    this.folder = folder;
    this.entry = entry;
  }

  /** Starts a gateway in a home of its own, with default settings but for the servers. */
  async start({
    channels = {},
    config = {},
    token,
    env = {},
    running = 0,
    node = [],
    prepare,
    entry = this.entry,
  }: Started = {}): Promise<Child> {
    const home = await this.home(channels, { config, token });
    await prepare?.(home);
    return await this.startIn(home, { env, running, node, entry });
  }

  async startIn(
    home: string,
    {
      env = {},
      running = 0,
      node = [],
      entry = this.entry,
    }: Omit<Started, 'channels' | 'config' | 'token' | 'prepare'> = {},
  ): Promise<Child> {
    const args = ['--max-semi-space-size=4', ...node, entry, 'gateway', '--port', '0', '--home', home];
    // As its service starts it.
    return await startChild(args, { MALLOC_ARENA_MAX: '2', ...env }, running);
  }

  async home(
    channels: Readonly<Record<string, unknown>> = {},
    { config = {}, token }: { readonly config?: Readonly<Record<string, unknown>>; readonly token?: string } = {},
  ): Promise<string> {
    this.#homes += 1;
    const home = join(this.folder, `home-${this.#homes}`);
    await mkdir(home, { recursive: true, mode: 0o700 });
    const settings = { ...this.settings(token), ...config };
    settings.channels = { ...settings.channels, ...channels };
    await writeFile(join(home, 'config.json'), JSON.stringify(settings), { mode: 0o600 });
    return home;
  }

  /**
   * Of a home with this bot: the servers in place of the platform and the model, else what is default. Each owner is sent a menu of
   * commands when the bot starts.
   */
  settings(token = BENCH_TOKEN, ownerCount: number = OWNERS.most) {
    const { modelUrl, telegramRoot } = this.peers;
    const owners = Array.from({ length: ownerCount }, (_, at) => String(OWNERS.first + at));
    const channels: Readonly<Record<string, unknown>> = {
      telegram: { token, apiRoot: telegramRoot, allowFrom: ['*', ...owners], owners },
    };
    return {
      agent: { model: 'openai/bench' },
      providers: { openai: { apiKey: 'bench-key', baseUrl: modelUrl } },
      // A thousand turns of history are read whole: a trim would end what is measured.
      models: { 'openai/bench': { contextWindow: 1_000_000 } },
      channels,
      tools: { guest: ['list_dir', 'read_file'] },
    };
  }

  /** Milliseconds of one turn. */
  async turn(chat: number, text: string, token?: string): Promise<number> {
    const began = performance.now();
    await this.peers.ask(chat, text, token);
    return performance.now() - began;
  }

  /** Milliseconds of each of so many turns, one after the other, in chats that take turns. */
  async turns(
    count: number,
    { chats = [2], text = 'hello' }: { readonly chats?: readonly number[]; readonly text?: string } = {},
  ): Promise<readonly number[]> {
    const times: number[] = [];
    for (let i = 0; i < count; i += 1) times.push(await this.turn(chats[i % chats.length] ?? 2, text));
    return times;
  }

  /** Turns and seconds of 50 chats from `from` on that each say `each` things, one after the other. */
  async crowd(each: number, from: number): Promise<{ readonly turns: number; readonly seconds: number }> {
    const began = performance.now();
    await Promise.all(
      Array.from({ length: 50 }, async (_, chat) => {
        for (let i = 0; i < each; i += 1) await this.peers.ask(from + chat, `hello ${i}`);
      }),
    );
    return { turns: 50 * each, seconds: (performance.now() - began) / 1000 };
  }
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** The value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;
}

export function pause(timeMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, timeMs));
}
