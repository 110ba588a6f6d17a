import type { Random } from '../util/random.ts';
import {
  SendError,
  type Channel,
  type ChannelCapabilities,
  type ChannelContext,
  type ChannelHealth,
  type OutgoingPart,
  type ReactionChange,
  type ReactionTarget,
} from './channel.ts';
import { InboundGate } from './inbound/gate.ts';
import type { GroupOptions } from './inbound/group-talk.ts';
import type { Markup } from './markup/markup.ts';

type Chat = Parameters<NonNullable<Channel['typing']>>[0];

/** What a channel passes to `Platform.connect`. */
export interface Link {
  /** The key in `config.channels`. */
  readonly name: string;
  readonly context: ChannelContext;
  readonly gate: InboundGate;
  readonly random: Random;
  /** Aborts when the channel stops, or when its start fails. */
  readonly signal: AbortSignal;
  /** Call it when anything came from the platform; it sets `lastInboundAt` of the health. */
  readonly heard: () => void;
  /**
   * Sets the present trouble, one sentence, with the connection, with reading its messages or with reactions; undefined clears it.
   * While there is trouble the health is `state` and has `code`. @default 'reconnecting', without a code
   */
  readonly report: (
    about: 'connection' | 'reading' | 'reactions',
    trouble: string | undefined,
    state?: 'reconnecting' | 'running',
    code?: ChannelHealth['code'],
  ) => void;
}

/**
 * The part of a channel that differs from platform to platform; `PlatformChannel` makes a `Channel` of it. `C` is an open
 * connection. An optional function that is left out is a capability that the channel does not have.
 */
export interface Platform<C extends AsyncDisposable> extends Pick<
  Channel,
  'kind' | 'commandPrefix' | 'settlesResends' | 'stateReactions'
> {
  readonly shows: Pick<ChannelCapabilities, 'maxLength' | 'buttons' | 'threads' | 'media'>;
  readonly markup: Pick<Markup, 'render' | 'literal'>;
  readonly groups: GroupOptions;
  /** As of `ChannelHealth`. */
  readonly quietMs?: number;
  /**
   * Connects; resolves when messages flow. From then on the connection reads each message, passes it to `link.gate` and
   * writes it with `link.context.write`. Throws a `ChannelError` when it cannot connect. `link.signal` aborts before the
   * connection is disposed of.
   */
  readonly connect: (link: Link) => Promise<C>;
  /** Sends one part; returns the platform's id of it. What it throws becomes a `SendError` by `toSendError`. */
  readonly send: (connection: C, part: OutgoingPart, signal: AbortSignal) => Promise<string>;
  /** Replaces text and buttons of a message. Resolves also when the message has them already. */
  readonly edit?: (
    connection: C,
    part: OutgoingPart & { readonly platformId: string },
    signal: AbortSignal,
  ) => Promise<void>;
  readonly draft?: (connection: C, part: OutgoingPart, signal: AbortSignal) => Promise<boolean>;
  readonly typing?: (connection: C, chat: Chat, signal: AbortSignal) => Promise<void>;
  /** As `Channel.album`. */
  readonly album?: NonNullable<Channel['album']>;
  readonly react?: (
    connection: C,
    target: ReactionTarget,
    change: ReactionChange,
    signal: AbortSignal,
  ) => Promise<void>;
  readonly download?: (
    connection: C,
    source: string,
    limits: { readonly maxBytes: number; readonly signal: AbortSignal },
  ) => Promise<Uint8Array>;
  /** Turns an error that a call threw into a `SendError`. Not called for an error that is one. */
  readonly toSendError: (thrown: unknown) => SendError;
}

interface Trouble {
  readonly sentence: string;
  readonly state: 'reconnecting' | 'running';
  readonly code: ChannelHealth['code'];
}

/** Makes a `Channel` of a `Platform`: start and stop, health, and turning errors into `SendError`. */
export class PlatformChannel<C extends AsyncDisposable> implements Channel {
  readonly name: string;
  readonly kind: string;
  readonly capabilities: ChannelCapabilities;
  readonly commandPrefix?: string;
  readonly settlesResends?: boolean;
  readonly edit?: NonNullable<Channel['edit']>;
  readonly draft?: NonNullable<Channel['draft']>;
  readonly typing?: NonNullable<Channel['typing']>;
  readonly react?: NonNullable<Channel['react']>;
  readonly album?: NonNullable<Channel['album']>;
  readonly stateReactions?: NonNullable<Channel['stateReactions']>;
  readonly download?: NonNullable<Channel['download']>;
  readonly #platform: Platform<C>;
  readonly #random: Random;
  readonly #gate: InboundGate;
  #running: { readonly connection: C; readonly context: ChannelContext } | undefined;
  #heardAt: number | undefined;
  #troubles: Partial<Record<Parameters<Link['report']>[0], Trouble | undefined>> = {};

  constructor(name: string, platform: Platform<C>, random: Random) {
    const { kind, shows, commandPrefix, settlesResends, stateReactions, groups } = platform;
    const { edit, draft, typing, react, download } = platform;
    this.name = name;
    this.kind = kind;
    this.#platform = platform;
    this.#random = random;
    this.#gate = new InboundGate(name, groups);
    this.capabilities = {
      ...shows,
      edit: edit !== undefined,
      drafts: draft !== undefined,
      typing: typing !== undefined,
      reactions: react !== undefined,
    };
    if (commandPrefix !== undefined) this.commandPrefix = commandPrefix;
    if (settlesResends !== undefined) this.settlesResends = settlesResends;
    if (platform.album !== undefined) this.album = platform.album;
    if (stateReactions !== undefined) this.stateReactions = stateReactions;
    if (edit !== undefined) this.edit = (part, signal) => this.#sent(part, (to) => edit(to, part, signal));
    if (draft !== undefined) this.draft = (part, signal) => this.#call((to) => draft(to, part, signal));
    if (typing !== undefined)
      this.typing = async (chat, signal) => await typing(this.#connected().connection, chat, signal);
    if (react !== undefined)
      this.react = (target, change, signal) => this.#call((to) => react(to, target, change, signal));
    if (download !== undefined) {
      this.download = (source, { maxBytes }, signal) => this.#call((to) => download(to, source, { maxBytes, signal }));
    }
  }

  async start(context: ChannelContext, signal: AbortSignal): Promise<AsyncDisposable> {
    const stop = new AbortController();
    this.#troubles = {};
    try {
      const connection = await this.#platform.connect({
        name: this.name,
        context,
        gate: this.#gate,
        random: this.#random,
        signal: AbortSignal.any([signal, stop.signal]),
        heard: () => {
          this.#heardAt = context.clock.now();
        },
        report: (about, sentence, state = 'reconnecting', code) => {
          this.#troubles[about] = sentence === undefined ? undefined : { sentence, state, code };
        },
      });
      this.#running = { connection, context };
      this.#heardAt = context.clock.now();
      return {
        [Symbol.asyncDispose]: async () => {
          stop.abort();
          this.#running = undefined;
          await connection[Symbol.asyncDispose]();
        },
      };
    } catch (error) {
      stop.abort();
      throw error;
    }
  }

  render(markdown: string): readonly string[] {
    return this.#platform.markup.render(markdown);
  }

  plain(text: string): readonly string[] {
    return this.#platform.markup.literal(text);
  }

  async send(part: OutgoingPart, signal: AbortSignal): Promise<{ readonly platformId: string }> {
    return { platformId: await this.#sent(part, (to) => this.#platform.send(to, part, signal)) };
  }

  health(): ChannelHealth {
    if (this.#running === undefined) return { state: 'stopped' };
    const { connection, reading, reactions } = this.#troubles;
    const trouble = connection ?? reading ?? reactions;
    const { quietMs } = this.#platform;
    return {
      state: trouble?.state ?? 'running',
      ...(trouble === undefined ? {} : { detail: trouble.sentence }),
      ...(trouble?.code === undefined ? {} : { code: trouble.code }),
      ...(this.#heardAt === undefined ? {} : { lastInboundAt: this.#heardAt }),
      ...(quietMs === undefined ? {} : { quietMs }),
    };
  }

  async #sent<T>(part: OutgoingPart, call: (connection: C) => Promise<T>): Promise<T> {
    const { context } = this.#connected();
    const sent = await this.#call(call);
    this.#gate.sent(part, context.clock.now());
    return sent;
  }

  async #call<T>(call: (connection: C) => Promise<T>): Promise<T> {
    const { connection } = this.#connected();
    try {
      return await call(connection);
    } catch (error) {
      throw error instanceof SendError ? error : this.#platform.toSendError(error);
    }
  }

  #connected(): { readonly connection: C; readonly context: ChannelContext } {
    if (this.#running === undefined) throw new SendError('retryable', `channel "${this.name}" is not running`);
    return this.#running;
  }
}
