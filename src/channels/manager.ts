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
/** Wait between attempts when a person probably has to change something (`retry: 'seldom'`). */
const SELDOM_MS = 600_000;
/** Interval of the check whether a channel still receives from its platform. */
const WATCH_MS = 30_000;
/** Cap of a stranger's name, in characters. */
const LONGEST_NAME = 60;
/** A channel that ran this long begins its backoff anew. */
const STEADY_MS = 60_000;

/** A configured channel before its code is loaded. */
export interface ChannelSource {
  readonly name: string;
  readonly kind: string;
  /** Loads and makes the channel. Rejects with a `ChannelError` when its options are wrong. */
  open(): Promise<Channel>;
}

interface Supervised {
  readonly source: ChannelSource;
  readonly writer: InboundWriter;
  channel: Channel | undefined;
  /** The health while the channel does not run; a running channel reports its own. */
  health: ChannelHealth;
  /** Ends the present run with an error. */
  fail: (error: ChannelError) => void;
}

/** The people who were paired by a code, in addition to those in the configuration. */
export interface ChannelPeople {
  pairedRole(channel: string, id: string): PairedRole | undefined;
  pairedOwners(channel: string): readonly string[];
  requestPairing(attempt: Stranger & { readonly channel: string }): Promise<void>;
}

export interface ManagerPorts {
  readonly bus: Pick<MessageBus, 'publishRead'>;
  /** The stored read cursors of a channel. */
  readonly cursorsOf: (channel: string) => ReadonlyMap<string, string>;
  readonly people: ChannelPeople;
  /** When a person's message last came in on a channel, ms since 1970; undefined: never. @default always undefined */
  readonly heardUntil?: (channel: string) => number | undefined;
  /** When the home was restored from a backup, ms since 1970. @default it was not */
  readonly restoredAt?: number | undefined;
  readonly storage: InboundWriterPorts['storage'];
  /** Writes a text, with secrets redacted, as a file of this name to the quarantine; returns its path. */
  readonly keep: InboundWriterPorts['keep'];
  /** Sends the owner a notice, once for each id. */
  readonly tellOwner: InboundWriterPorts['tellOwner'];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Supervises the channels independently of each other: one that fails is started again or reported as failed. */
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

  /**
   * Starts all channels in parallel. Resolves when each runs, has failed, or waits for another attempt. Never rejects.
   */
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

  /** Stops all channels in parallel, within 5 s. For a channel that takes longer a warning is logged. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#loops);
  }

  /** The channel of this name; undefined while it is not loaded. */
  channel(name: string): Channel | undefined {
    return this.#channels.get(name)?.channel;
  }

  /**
   * Renders a message into the parts that its channel sends. Undefined when the channel is unknown or not loaded, or
   * cannot render this text; delivery then renders it later.
   */
  renderParts(message: OutboundMessage): readonly string[] | undefined {
    const channel = this.channel(message.channel);
    try {
      return channel === undefined ? undefined : partsOf(channel, message);
    } catch (error) {
      this.#ports.log.warn('channels: markup failed', { channel: message.channel, reason: errorMessage(error) });
      return undefined;
    }
  }

  /**
   * Splits a text into parts without rendering its Markdown, for texts that must not fail. Undefined when the channel
   * is not loaded.
   */
  plainParts(name: string, text: string): readonly string[] | undefined {
    return this.channel(name)?.plain(text);
  }

  /** Channel name → health, in the order of the configuration. */
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

  /** Runs a channel once, from its start until it fails or is stopped; resolves with the reason of the end. */
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

  /** Fails a channel that received nothing for `quietMs`, because a connection can be dead without an error. */
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
        // The wall clock may have been changed, but it was certainly after the last check.
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
    const { clock, people, cursorsOf, heardUntil, restoredAt, tellOwner } = this.#ports;
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
          log.error('channels: notice to the owner not queued', { reason: errorMessage(error) });
        }
      },
      cursors: () => cursorsOf(source.name),
      pairedRole: (id) => people.pairedRole(source.name, id),
      isPaired: (id) => ['owner', 'trusted'].includes(people.pairedRole(source.name, id) ?? ''),
      pairedOwners: () => people.pairedOwners(source.name),
      heardUntil: () => heardUntil?.(source.name),
      restoredAt,
      requestPairing: async (stranger) => {
        try {
          const name = oneLine(withoutInvisible(stranger.name ?? '').text, LONGEST_NAME);
          await people.requestPairing({ ...stranger, name: name === '' ? undefined : name, channel: source.name });
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
      // A start that succeeds after its deadline is disposed of, so that it does not run unsupervised.
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
