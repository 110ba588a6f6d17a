import type { OutboundMessage } from '../bus/messages.ts';
import { errorMessage } from '../util/errors.ts';
import { ChannelError, partsOf, type Channel, type ChannelHealth, type MenuCommand } from './channel.ts';
import type { Outlets } from './delivery/next-part.ts';
import { SupervisedChannel, type ChannelSource, type ManagerPorts } from './supervised-channel.ts';

/** Supervises the channels independently of each other: one that fails is started again or reported as failed. */
export class ChannelManager implements Outlets {
  readonly #ports: ManagerPorts;
  readonly #channels = new Map<string, SupervisedChannel>();
  readonly #listeners = new Set<(channel: string, chatId: string | undefined) => void>();
  /** Channels that were taken out and have not ended yet. */
  readonly #leaving = new Set<Promise<void>>();
  #commands: () => readonly MenuCommand[] = () => [];
  #state: 'new' | 'started' | 'stopped' = 'new';

  constructor(sources: readonly ChannelSource[], ports: ManagerPorts) {
    this.#ports = ports;
    for (const source of sources) this.#channels.set(source.name, this.#supervised(source));
  }

  /**
   * Starts all channels in parallel. Resolves when each runs, has failed, or waits for another attempt. Never rejects.
   */
  async start(commands: () => readonly MenuCommand[] = () => []): Promise<void> {
    this.#commands = commands;
    this.#state = 'started';
    await Promise.all([...this.#channels.values()].map((entry) => entry.start()));
  }

  /** Stops all channels in parallel, within 5 s. For a channel that takes longer a warning is logged. */
  async stop(): Promise<void> {
    this.#state = 'stopped';
    await Promise.all([...[...this.#channels.values()].map((entry) => entry.stop()), ...this.#leaving]);
  }

  /**
   * Stops the channel of this name, after what it is sending, and starts `source` in its place; undefined: nothing. Others
   * are not touched. Meanwhile messages to it wait. Resolves like `start`.
   */
  async replace(name: string, source: ChannelSource | undefined): Promise<void> {
    const before = this.#channels.get(name);
    if (source === undefined) this.#channels.delete(name);
    const leaving = before?.finish() ?? Promise.resolve();
    this.#leaving.add(leaving);
    await leaving;
    this.#leaving.delete(leaving);
    if (source === undefined || this.#state === 'stopped') return;
    const next = this.#supervised(source);
    this.#channels.set(name, next);
    if (this.#state === 'started') await next.start();
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
      [...this.#channels].map(([name, entry]) => [name, { kind: entry.source.kind, ...entry.health() }]),
    );
  }

  outlet(name: string): Channel | 'waiting' | 'unknown' {
    const entry = this.#channels.get(name);
    if (entry === undefined) return 'unknown';
    return entry.channel !== undefined && entry.isRunning ? entry.channel : 'waiting';
  }

  running(): readonly string[] {
    return [...this.#channels.keys()].filter((name) => typeof this.outlet(name) === 'object');
  }

  sending<T>(name: string, work: Promise<T>): Promise<T> {
    this.#channels.get(name)?.sending(work);
    return work;
  }

  revoked(name: string, reason: string): void {
    this.#channels.get(name)?.fail(new ChannelError(reason, { retry: 'seldom' }));
  }

  onReachable(listener: (channel: string, chatId: string | undefined) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  #supervised(source: ChannelSource): SupervisedChannel {
    return new SupervisedChannel(source, {
      ...this.#ports,
      commands: () => this.#commands(),
      tell: (chatId) => {
        for (const listener of this.#listeners) listener(source.name, chatId);
      },
    });
  }
}
