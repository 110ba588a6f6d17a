import type { MessageBus } from '../bus/bus.ts';
import type { AcceptResult, InboundDraft, PairedRole } from '../bus/messages.ts';
import { withoutInvisible } from '../security/text/invisible.ts';
import { backoffMs } from '../util/backoff.ts';
import { deadline, raceAbort, sleep, type Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Random } from '../util/random.ts';
import { ALWAYS_PERMITTED, type Permit } from '../util/permit.ts';
import { oneLine } from '../util/text.ts';
import {
  ChannelError,
  type Channel,
  type ChannelContext,
  type ChannelHealth,
  type MenuCommand,
  type PassedOver,
  type ReactionDraft,
  type ReadUpTo,
  type Stranger,
} from './channel.ts';
import { InboundWriter, type InboundWriterPorts } from './inbound/writer.ts';
import { watchSilence } from './silence.ts';

const START_DEADLINE_MS = 30_000;
const STOP_DEADLINE_MS = 4_000;
/** How long a channel that is replaced waits for the messages that it is sending. */
const SENT_DEADLINE_MS = 10_000;
const RESTART = { firstMs: 1_000, maxMs: 300_000 };
/** Wait between attempts when a person probably has to change something (`retry: 'seldom'`). */
const SELDOM_MS = 600_000;
/** Cap of a stranger's name, in characters. */
const LONGEST_NAME = 60;
/** A channel that ran this long begins its backoff anew. */
const STEADY_MS = 60_000;

/** A configured channel before its code is loaded. */
export interface ChannelSource {
  readonly name: string;
  readonly kind: string;
  /** The channel is connected only while this is granted. @default always permitted */
  readonly permit?: Permit;
  /** Loads and makes the channel. Rejects with a `ChannelError` when its options are wrong. */
  open(): Promise<Channel>;
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
  readonly restoredAt?: number;
  readonly storage: InboundWriterPorts['storage'];
  /** Writes a text, with secrets redacted, as a file of this name to the quarantine; returns its path. */
  readonly keep: InboundWriterPorts['keep'];
  /** Records a message of a channel that is not taken. Never throws. @default nothing is recorded */
  readonly passOver?: (channel: string, message: PassedOver) => void;
  /** Keeps people's reactions to messages of the assistant; resolves after the commit. @default they are ignored */
  readonly reacted?: (reactions: readonly ReactionDraft[]) => Promise<void>;
  /** Sends the owner a notice, once for each id. */
  readonly tellOwner: InboundWriterPorts['tellOwner'];
  /** What a channel is given in place of `context`, where several assistants share it. @default `context` */
  readonly share?: (channel: string, context: ChannelContext) => ChannelContext;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** What one channel needs of those that manage all. */
interface SupervisorPorts extends ManagerPorts {
  /** What the platform's menu shows. */
  readonly commands: () => readonly MenuCommand[];
  /** The channel, or a chat of it, can be reached again. */
  readonly tell: (chatId: string | undefined) => void;
}

/** One channel that is started, started again with a backoff when it fails, and stopped. */
export class SupervisedChannel {
  readonly source: ChannelSource;
  readonly #ports: SupervisorPorts;
  readonly #writer: InboundWriter;
  readonly #stop = new AbortController();
  readonly #sending = new Set<Promise<unknown>>();
  #isLeaving = false;
  #loop: Promise<void> = Promise.resolve();
  #channel: Channel | undefined;
  /** When it first tried to connect, ms since 1970. */
  #openedAt: number | undefined;
  /** The health while the channel does not run; a running channel reports its own. */
  #state: ChannelHealth = { state: 'stopped' };
  /** Ends the present run with an error. */
  #fail: (error: ChannelError) => void = () => {};

  constructor(source: ChannelSource, ports: SupervisorPorts) {
    this.source = source;
    this.#ports = ports;
    const { log, ...rest } = ports;
    const { name: channel } = source;
    const accept: InboundWriterPorts['accept'] = (drafts, cursors) => this.#accept(drafts, cursors);
    this.#writer = new InboundWriter({ ...rest, channel, accept, log: log.with({ channel }) });
  }

  /** Undefined while it is not loaded. */
  get channel(): Channel | undefined {
    return this.#channel;
  }

  get isRunning(): boolean {
    return this.#channel !== undefined && this.#state.state === 'running' && !this.#isLeaving && this.#permit.isGranted;
  }

  get #permit(): Permit {
    return this.source.permit ?? ALWAYS_PERMITTED;
  }

  /** Starts it. Resolves when it runs, has failed, or waits for another attempt. Never rejects. */
  start(): Promise<void> {
    return new Promise<void>((tried) => {
      this.#loop = this.#supervise(tried).finally(tried);
    });
  }

  /** Stops it, within 5 s. For a channel that takes longer a warning is logged. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
  }

  /** Takes note of something that is being sent. */
  sending(work: Promise<unknown>): void {
    const sent = Promise.allSettled([work]).then(() => {
      this.#sending.delete(sent);
    });
    this.#sending.add(sent);
  }

  /**
   * Stops it after what it is sending, for which it waits 10 s: a message that is cut off is sent again and marked, since
   * it may have arrived. Nothing new is given to it.
   */
  async finish(): Promise<void> {
    this.#isLeaving = true;
    const { clock, log } = this.#ports;
    using limit = deadline(clock, SENT_DEADLINE_MS, 'Sending the last messages');
    try {
      while (this.#sending.size > 0) await raceAbort(Promise.all(this.#sending), limit.signal);
    } catch (error) {
      log.warn('channels: channel stopped while it was sending', {
        channel: this.source.name,
        reason: errorMessage(error),
      });
    }
    await this.stop();
  }

  /** Ends the present run; the supervisor decides what follows. */
  fail(error: ChannelError): void {
    this.#fail(error);
  }

  health(): ChannelHealth {
    const found = this.#state.state === 'running' && this.#channel !== undefined ? this.#channel.health() : this.#state;
    const { trouble } = this.#writer;
    if (trouble === undefined || found.state !== 'running') return found;
    return { ...found, state: 'reconnecting', detail: trouble };
  }

  async #supervise(tried: () => void): Promise<void> {
    const { clock, random } = this.#ports;
    const { name } = this.source;
    const log = this.#ports.log.with({ channel: name });
    for (let failures = 1; !this.#stop.signal.aborted; failures += 1) {
      const began = clock.monotonic();
      if (failures === 1) this.#state = { state: 'starting' };
      else if (this.#state.state !== 'failed') this.#state = { ...this.#state, state: 'reconnecting' };
      const error = await this.#run(log, tried);
      if (this.#stop.signal.aborted) break;
      if (!this.#permit.isGranted) {
        failures = 0;
        if (await this.#regained(log, tried)) continue;
        break;
      }
      const detail = errorMessage(error);
      if (error instanceof ChannelError && error.retry !== true) {
        if (this.#state.state !== 'failed' || this.#state.detail !== detail) {
          log.error('channels: channel failed', { reason: detail });
        }
        this.#state = { state: 'failed', detail };
        if (!error.retry) return;
        tried();
        await sleep(clock, SELDOM_MS, this.#stop.signal).catch(() => {});
        continue;
      }
      if (clock.monotonic() - began >= STEADY_MS) failures = 1;
      const waitMs = backoffMs(failures, RESTART, random);
      log.warn('channels: channel failed, starting it again', { reason: detail, waitMs });
      this.#state = { state: 'reconnecting', detail };
      tried();
      await sleep(clock, waitMs, this.#stop.signal).catch(() => {});
    }
    this.#state = { state: 'stopped' };
  }

  /** Waits, without a connection, until it may have one again. False: it never may, or it is stopped. */
  async #regained(log: Logger, tried: () => void): Promise<boolean> {
    log.warn('channels: channel disconnected, since another gateway may run the home');
    this.#state = { state: 'reconnecting', detail: 'It is not certain that this gateway still runs the home.' };
    tried();
    try {
      await this.#permit.granted(this.#stop.signal);
      return true;
    } catch {
      return false;
    }
  }

  /** Runs a channel once, from its start until it fails or is stopped; resolves with the reason of the end. */
  async #run(log: Logger, tried: () => void): Promise<unknown> {
    const { clock } = this.#ports;
    const life = new AbortController();
    const ended = new Promise<ChannelError>((resolve) => {
      this.#fail = resolve;
      this.#stop.signal.addEventListener('abort', () => resolve(new ChannelError('stopped', { retry: true })), {
        once: true,
        signal: life.signal,
      });
    });
    using _permitted = this.#permit.onWithdrawn(() =>
      this.#fail(new ChannelError('another gateway may run the home', { retry: true })),
    );
    let running: AsyncDisposable;
    try {
      running = await this.#open(log, life);
    } catch (error) {
      life.abort();
      return error;
    }
    this.#state = { state: 'running' };
    log.info('channels: channel running');
    tried();
    this.#ports.tell(undefined);
    using _watch = watchSilence(clock, { health: () => this.health(), fail: (error) => this.#fail(error) });
    const why = await ended;
    this.#state = { state: 'reconnecting', detail: why.message };
    life.abort();
    await dispose(running, clock, log);
    return why;
  }

  async #open(log: Logger, life: AbortController): Promise<AsyncDisposable> {
    const { clock, people, cursorsOf, heardUntil, restoredAt, tellOwner } = this.#ports;
    const { source } = this;
    using limit = deadline(clock, START_DEADLINE_MS, `Starting channel "${source.name}"`);
    const cut = AbortSignal.any([this.#stop.signal, limit.signal]);
    this.#openedAt ??= clock.now();
    this.#channel ??= await raceAbort(source.open(), cut);
    const context: ChannelContext = {
      accept: (drafts, cursors = []) => this.#accept(drafts, cursors),
      write: (received, options) => this.#writer.write(received, options),
      reacted: (reactions, signal) => this.#reacted(reactions, { signal, log }),
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
      openedAt: this.#openedAt,
      restoredAt,
      requestPairing: async (stranger) => {
        try {
          const name = oneLine(withoutInvisible(stranger.name ?? '').text, LONGEST_NAME);
          await people.requestPairing({ ...stranger, name: name === '' ? undefined : name, channel: source.name });
        } catch (error) {
          log.error('pairing: code not sent', { reason: errorMessage(error) });
        }
      },
      passOver: (message) => this.#ports.passOver?.(source.name, message),
      commands: this.#ports.commands(),
      permit: source.permit,
      wake: (chatId) => this.#ports.tell(chatId),
      fail: (error) => {
        if (!life.signal.aborted) this.#fail(error);
      },
      clock,
      log,
    };
    const starting = this.#channel.start(this.#ports.share?.(source.name, context) ?? context, life.signal);
    try {
      return await raceAbort(starting, cut);
    } catch (error) {
      life.abort();
      // A start that succeeds after its deadline is disposed of, so that it does not run unsupervised.
      starting.then((late) => dispose(late, clock, log)).catch(() => {});
      throw error;
    }
  }

  async #reacted(
    reactions: readonly ReactionDraft[],
    { signal, log }: { readonly signal: AbortSignal; readonly log: Logger },
  ): Promise<void> {
    const { reacted, storage } = this.#ports;
    if (reactions.length === 0 || reacted === undefined) return;
    try {
      await storage.untilWritten(() => reacted(reactions), {
        signal,
        what: `${this.source.name}: reactions`,
        tries: 2,
      });
    } catch (error) {
      signal.throwIfAborted();
      log.warn('channels: reactions not kept', { reason: errorMessage(error) });
    }
  }

  #accept(drafts: readonly InboundDraft[], cursors: readonly ReadUpTo[]): Promise<readonly AcceptResult[]> {
    const channel = this.source.name;
    return this.#ports.bus.publishRead(
      drafts,
      cursors.map((cursor) => ({ ...cursor, channel })),
    );
  }
}

async function dispose(running: AsyncDisposable, clock: Clock, log: Logger): Promise<void> {
  using limit = deadline(clock, STOP_DEADLINE_MS, 'Stopping the channel');
  try {
    await raceAbort(Promise.resolve(running[Symbol.asyncDispose]()), limit.signal);
  } catch (error) {
    log.warn('channels: channel did not stop cleanly', { reason: errorMessage(error) });
  }
}
