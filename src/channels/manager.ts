import type { OutboundMessage } from '../bus/messages.ts';
import type { MessageBus } from '../bus/bus.ts';
import type { AcceptResult, InboundDraft, PairedRole } from '../bus/messages.ts';
import { deadline, raceAbort, sleep, type Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Random } from '../util/random.ts';
import { backoffMs } from '../util/backoff.ts';
import { withoutInvisible } from '../security/text/invisible.ts';
import { oneLine } from '../util/text.ts';
import {
  ChannelError,
  type Channel,
  type ChannelContext,
  type ChannelHealth,
  type MenuCommand,
  type ReadUpTo,
  type Stranger,
  partsOf,
} from './channel.ts';
import type { Outlets } from './delivery/next-part.ts';
import { InboundWriter, type InboundWriterPorts } from './inbound/writer.ts';

const START_DEADLINE_MS = 30_000;
const STOP_DEADLINE_MS = 4_000;
const RESTART = { firstMs: 1_000, maxMs: 300_000 };
/** Between tries where a person most likely has to change something. */
const SELDOM_MS = 600_000;
/** Between two looks at whether a channel still hears its platform. */
const WATCH_MS = 30_000;
/** Characters of what a stranger calls themselves. */
const LONGEST_NAME = 60;
/** A channel that ran this long begins its backoff anew. */
const STEADY_MS = 60_000;

/** A configured channel before its code is loaded. */
export interface ChannelSource {
  readonly name: string;
  readonly kind: string;
  /** Loads and builds it; throws a `ChannelError` when its options cannot work. */
  open(): Promise<Channel>;
}

interface Supervised {
  readonly source: ChannelSource;
  readonly writer: InboundWriter;
  channel: Channel | undefined;
  /** What the supervisor knows; while the channel runs it speaks for itself. */
  health: ChannelHealth;
  /** Ends the present run. */
  fail: (error: ChannelError) => void;
}

/** Who is let in beside those whom the configuration lists. */
export interface ChannelPeople {
  pairedRole(channel: string, id: string): PairedRole | undefined;
  pairedOwners(channel: string): readonly string[];
  knock(attempt: Stranger & { readonly channel: string }): Promise<void>;
}

export interface ManagerPorts {
  readonly bus: Pick<MessageBus, 'publishRead'>;
  /** How far the places of a channel were read. */
  readonly cursorsOf: (channel: string) => ReadonlyMap<string, string>;
  readonly people: ChannelPeople;
  /** When somebody was last heard on a channel, ms since 1970. @default never */
  readonly heardUntil?: (channel: string) => number | undefined;
  readonly storage: InboundWriterPorts['storage'];
  /** Keeps a text without secrets in the quarantine under this name; returns its path. */
  readonly keep: InboundWriterPorts['keep'];
  /** Tells the owner once for each id. */
  readonly tellOwner: InboundWriterPorts['tellOwner'];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Keeps every channel running, each on its own: one that fails is started again or reported, the others never notice. */
export class ChannelManager implements Outlets {
  readonly #ports: ManagerPorts;
  readonly #channels = new Map<string, Supervised>();
  readonly #listeners = new Set<(channel: string, chatId: string | undefined) => void>();
  readonly #stop = new AbortController();
  readonly #loops = new Set<Promise<void>>();
  #commands: readonly MenuCommand[] = [];

  constructor(sources: readonly ChannelSource[], ports: ManagerPorts) {
    this.#ports = ports;
    for (const source of sources) {
      this.#channels.set(source.name, {
        source,
        writer: this.#openWriter(source.name),
        channel: undefined,
        health: { state: 'stopped' },
        fail: () => {},
      });
    }
  }

  /** Starts all side by side; resolves when each runs, failed, or waits for another try. Never rejects. */
  async start(commands: readonly MenuCommand[] = []): Promise<void> {
    this.#commands = commands;
    await Promise.all(
      [...this.#channels.values()].map(
        (entry) =>
          new Promise<void>((tried) => {
            const loop = this.#supervise(entry, tried).finally(tried);
            this.#loops.add(loop);
          }),
      ),
    );
  }

  /** Stops all side by side within 5 s; a channel that does not end by then is left behind with a warning. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
  }

  /** Undefined while it is not loaded. */
  channel(name: string): Channel | undefined {
    return this.#channels.get(name)?.channel;
  }

  /**
   * The parts as the platform will get them; undefined when the channel is unknown or not loaded yet, or fails at this
   * text: delivery renders it later.
   */
  renderParts(message: OutboundMessage): readonly string[] | undefined {
    const channel = this.channel(message.channel);
    try {
      return channel === undefined ? undefined : partsOf(channel, message);
    } catch (error) {
      this.#ports.log.warn('a text could not be rendered', { channel: message.channel, reason: errorMessage(error) });
      return undefined;
    }
  }

  /** The same without reading its markup, for texts that must not fail; undefined when the channel is not loaded. */
  plainParts(name: string, text: string): readonly string[] | undefined {
    return this.channel(name)?.plain(text);
  }

  /** By channel name, in the order of the configuration. */
  health(): Readonly<Record<string, ChannelHealth & { readonly kind: string }>> {
    return Object.fromEntries(
      [...this.#channels].map(([name, entry]) => [name, { kind: entry.source.kind, ...healthOf(entry) }]),
    );
  }

  outlet(name: string): Channel | 'waiting' | 'unknown' {
    const entry = this.#channels.get(name);
    if (entry === undefined) return 'unknown';
    return entry.channel !== undefined && entry.health.state === 'running' ? entry.channel : 'waiting';
  }

  running(): readonly string[] {
    return [...this.#channels.keys()].filter((name) => typeof this.outlet(name) === 'object');
  }

  revoked(name: string, reason: string): void {
    this.#channels.get(name)?.fail(new ChannelError(reason, { retry: 'seldom' }));
  }

  onReachable(listener: (channel: string, chatId: string | undefined) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  async #supervise(entry: Supervised, tried: () => void): Promise<void> {
    const { clock, random } = this.#ports;
    const { name } = entry.source;
    const log = this.#ports.log.with({ channel: name });
    for (let failures = 1; !this.#stop.signal.aborted; failures += 1) {
      const began = clock.monotonic();
      if (failures === 1) entry.health = { state: 'starting' };
      else if (entry.health.state !== 'failed') entry.health = { ...entry.health, state: 'reconnecting' };
      const error = await this.#run(entry, log, tried);
      if (this.#stop.signal.aborted) break;
      const detail = errorMessage(error);
      if (error instanceof ChannelError && error.retry !== true) {
        if (entry.health.state !== 'failed' || entry.health.detail !== detail) {
          log.error('channels: channel failed', { reason: detail });
        }
        entry.health = { state: 'failed', detail };
        if (!error.retry) return;
        tried();
        await sleep(clock, SELDOM_MS, this.#stop.signal).catch(() => {});
        continue;
      }
      if (clock.monotonic() - began >= STEADY_MS) failures = 1;
      const waitMs = backoffMs(failures, RESTART, random);
      log.warn('channels: channel failed, starting it again', { reason: detail, waitMs });
      entry.health = { state: 'reconnecting', detail };
      tried();
      await sleep(clock, waitMs, this.#stop.signal).catch(() => {});
    }
    entry.health = { state: 'stopped' };
  }

  /** One life of a channel; returns why it ended. */
  async #run(entry: Supervised, log: Logger, tried: () => void): Promise<unknown> {
    const { clock } = this.#ports;
    const life = new AbortController();
    const ended = new Promise<ChannelError>((resolve) => {
      entry.fail = resolve;
      this.#stop.signal.addEventListener('abort', () => resolve(new ChannelError('stopped', { retry: true })), {
        once: true,
        signal: life.signal,
      });
    });
    let running: AsyncDisposable;
    try {
      running = await this.#open(entry, log, life);
    } catch (error) {
      life.abort();
      return error;
    }
    entry.health = { state: 'running' };
    log.info('channels: channel running');
    tried();
    this.#tell(entry.source.name, undefined);
    using _watch = this.#watch(entry);
    const why = await ended;
    entry.health = { state: 'reconnecting', detail: why.message };
    life.abort();
    await dispose(running, clock, log);
    return why;
  }

  /** A connection can look alive and be dead: only what comes in proves it. */
  #watch(entry: Supervised): Disposable {
    const { clock } = this.#ports;
    let timer: Disposable;
    let newest: number | undefined;
    let heardAt = clock.monotonic();
    let lookedAt = heardAt;
    const look = (): void => {
      timer = clock.timer(WATCH_MS, look);
      const { state, lastInboundAt, quietMs = Infinity } = healthOf(entry);
      const now = clock.monotonic();
      if (lastInboundAt === undefined) heardAt = now;
      else if (lastInboundAt !== newest) {
        // By the wall clock it may be any time ago; it was since the last look.
        const age = Math.min(Math.max(clock.now() - lastInboundAt, 0), now - lookedAt);
        newest = lastInboundAt;
        heardAt = now - age;
      }
      lookedAt = now;
      if (state !== 'running' || now - heardAt <= quietMs) return;
      const seconds = Math.round((now - heardAt) / 1_000);
      entry.fail(new ChannelError(`nothing was heard of the platform for ${seconds} s`, { retry: true }));
    };
    timer = clock.timer(WATCH_MS, look);
    return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  async #open(entry: Supervised, log: Logger, life: AbortController): Promise<AsyncDisposable> {
    const { clock, people, cursorsOf, heardUntil, tellOwner } = this.#ports;
    const { source, writer } = entry;
    using limit = deadline(clock, START_DEADLINE_MS, `Starting channel "${source.name}"`);
    const cut = AbortSignal.any([this.#stop.signal, limit.signal]);
    entry.channel ??= await raceAbort(source.open(), cut);
    const context: ChannelContext = {
      accept: (drafts, cursors = []) => this.#accept(source.name, drafts, cursors),
      write: (received, options) => writer.write(received, options),
      tellOwner: async (id, text) => {
        try {
          await tellOwner(`${source.name}:${id}`, text);
        } catch (error) {
          log.error('the owner could not be told', { reason: errorMessage(error) });
        }
      },
      cursors: () => cursorsOf(source.name),
      pairedRole: (id) => people.pairedRole(source.name, id),
      isPaired: (id) => people.pairedRole(source.name, id) !== undefined,
      pairedOwners: () => people.pairedOwners(source.name),
      heardUntil: () => heardUntil?.(source.name),
      knock: async (stranger) => {
        try {
          const name = oneLine(withoutInvisible(stranger.name ?? '').text, LONGEST_NAME);
          await people.knock({ ...stranger, name: name === '' ? undefined : name, channel: source.name });
        } catch (error) {
          log.error('pairing: code not sent', { reason: errorMessage(error) });
        }
      },
      commands: this.#commands,
      wake: (chatId) => this.#tell(source.name, chatId),
      fail: (error) => {
        if (!life.signal.aborted) entry.fail(error);
      },
      clock,
      log,
    };
    const starting = entry.channel.start(context, life.signal);
    try {
      return await raceAbort(starting, cut);
    } catch (error) {
      life.abort();
      // A start that ends after all must not run unseen.
      starting.then((late) => dispose(late, clock, log)).catch(() => {});
      throw error;
    }
  }

  #accept(
    channel: string,
    drafts: readonly InboundDraft[],
    cursors: readonly ReadUpTo[],
  ): Promise<readonly AcceptResult[]> {
    return this.#ports.bus.publishRead(
      drafts,
      cursors.map((cursor) => ({ ...cursor, channel })),
    );
  }

  #openWriter(channel: string): InboundWriter {
    const { log, ...ports } = this.#ports;
    const accept: InboundWriterPorts['accept'] = (drafts, cursors) => this.#accept(channel, drafts, cursors);
    return new InboundWriter({ ...ports, channel, accept, log: log.with({ channel }) });
  }

  #tell(channel: string, chatId: string | undefined): void {
    for (const listener of this.#listeners) listener(channel, chatId);
  }
}

function healthOf({ channel, health, writer }: Supervised): ChannelHealth {
  const found = health.state === 'running' && channel !== undefined ? channel.health() : health;
  if (writer.trouble === undefined || found.state !== 'running') return found;
  return { ...found, state: 'reconnecting', detail: writer.trouble };
}

async function dispose(running: AsyncDisposable, clock: Clock, log: Logger): Promise<void> {
  using limit = deadline(clock, STOP_DEADLINE_MS, 'Stopping the channel');
  try {
    await raceAbort(Promise.resolve(running[Symbol.asyncDispose]()), limit.signal);
  } catch (error) {
    log.warn('channels: channel did not stop cleanly', { reason: errorMessage(error) });
  }
}
