import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { ChannelError, type Channel, type ChannelContext, type ChannelHealth } from '../channel.ts';
import type { ChannelManager } from '../manager.ts';
import type { ChannelSource } from '../supervised-channel.ts';
import { Guests } from './guests.ts';
import { ownChats } from './own-chats.ts';
import { routedContext } from './routed-context.ts';

/** A chat is told at most once in this time that its assistant does not run. */
const REFUSED_EVERY_MS = 3_600_000;
const MOST_REFUSED = 1_000;

export interface SharedChannelsPorts {
  /** As `Line.began`, for the main assistant. */
  readonly began: (channel: string, turnId: string, chatId: string) => boolean;
  /** Sends a notice past the outbox, once. Rejects when it is not sent. */
  readonly say: (channel: Channel, notice: { readonly chatId: string; readonly text: string }) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * The channels of a process in which several assistants live. The main assistant runs each connection; every assistant, the main
 * one too, has a channel of its own over it, which reads and writes in its own chats alone.
 */
export class SharedChannels {
  readonly guests: Guests;
  readonly #ports: SharedChannelsPorts;
  readonly #opened = new Map<string, { readonly kind: string; readonly real: () => Promise<Channel> }>();
  readonly #loaded = new Map<string, Channel>();
  readonly #refused = new RecentMap<string, number>(MOST_REFUSED);
  #manager: ChannelManager | undefined;

  constructor(ports: SharedChannelsPorts) {
    this.#ports = ports;
    this.guests = new Guests(ports.clock);
  }

  /** Says which manager runs the connections. Until it is disposed of, chats that could not be reached are tried again. */
  runBy(manager: ChannelManager): Disposable {
    this.#manager = manager;
    return manager.onReachable((channel, chatId) => {
      if (chatId !== undefined) return;
      for (const [, { context, missed }] of this.guests.on(channel)) {
        const chats = [...missed];
        missed.clear();
        for (const chat of chats) context.wake(chat);
      }
    });
  }

  /** The source of a channel for the main assistant, whose manager runs it. */
  mains(source: ChannelSource): ChannelSource {
    const { name, kind } = source;
    let opening: Promise<Channel> | undefined;
    const real = async (): Promise<Channel> => {
      opening ??= source.open();
      try {
        const channel = await opening;
        this.#loaded.set(name, channel);
        return channel;
      } catch (error) {
        opening = undefined;
        throw error;
      }
    };
    this.#opened.set(name, { kind, real });
    const open = async (): Promise<Channel> => {
      const channel = await real();
      return ownChats(channel, {
        owns: (chatId) => this.guests.ownerOf(name, chatId) === null,
        began: (turnId, chatId) => this.#ports.began(name, turnId, chatId),
        connected: () => channel,
        start: (context, signal) => channel.start(context, signal),
        health: () => channel.health(),
      });
    };
    return { ...source, open };
  }

  /** What the connection of a channel is given: it reads for all assistants. */
  context(channel: string, own: ChannelContext): ChannelContext {
    if (!this.#opened.has(channel)) return own;
    const refuse = (name: string, on: string, chatId: string): void => void this.#refuse(name, on, chatId);
    return routedContext(channel, own, { guests: this.guests, refuse });
  }

  /** The sources of all channels for a further assistant: what its routes do not name it refuses, but for what began there. */
  sourcesOf(
    assistant: string,
    began: (channel: string, turnId: string, chatId: string) => boolean,
  ): readonly ChannelSource[] {
    return [...this.#opened].map(([name, { kind }]) => ({
      name,
      kind,
      open: async () => await this.#guest(assistant, name, began),
    }));
  }

  async #guest(
    assistant: string,
    name: string,
    began: (channel: string, turnId: string, chatId: string) => boolean,
  ): Promise<Channel> {
    const opened = this.#opened.get(name);
    if (opened === undefined) throw new ChannelError(`channel "${name}" is not there any more`, { retry: 'seldom' });
    const channel = await opened.real();
    return ownChats(channel, {
      owns: (chatId) => this.guests.ownerOf(name, chatId) === assistant,
      began: (turnId, chatId) => began(name, turnId, chatId),
      connected: () => (typeof this.#manager?.outlet(name) === 'object' ? this.#loaded.get(name) : undefined),
      sending: (work) => this.#manager?.sending(name, work) ?? work,
      revoked: (reason) => this.#manager?.revoked(name, reason),
      missed: (chatId) => this.guests.get(assistant, name)?.missed.add(chatId),
      start: async (context) => {
        const guest = this.guests.attach(assistant, name, context);
        return { [Symbol.asyncDispose]: async () => guest[Symbol.dispose]() };
      },
      health: () => this.#healthOf(name),
    });
  }

  /** Its silence is watched where it runs. */
  #healthOf(name: string): ChannelHealth {
    const found = this.#manager?.health()[name];
    if (found === undefined) return { state: 'reconnecting', detail: 'the channel is not connected' };
    const { state, detail, lastInboundAt } = found;
    return {
      state,
      ...(detail === undefined ? {} : { detail }),
      ...(lastInboundAt === undefined ? {} : { lastInboundAt }),
    };
  }

  async #refuse(assistant: string, name: string, chatId: string): Promise<void> {
    const { clock, log, say } = this.#ports;
    const key = JSON.stringify([name, chatId]);
    log.warn('agents: message not taken, its assistant does not run', { assistant, channel: name, chat: chatId });
    const channel = this.#loaded.get(name);
    if (channel === undefined || clock.monotonic() - (this.#refused.get(key) ?? -Infinity) < REFUSED_EVERY_MS) return;
    this.#refused.set(key, clock.monotonic());
    const text = `The assistant of this chat, “${assistant}”, does not run at the moment, so your message was not taken. Please send it again later.`;
    try {
      await say(channel, { chatId, text });
    } catch (error) {
      log.warn('agents: notice not sent', { channel: name, chat: chatId, reason: errorMessage(error) });
    }
  }
}
