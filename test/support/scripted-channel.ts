import {
  SendError,
  type Channel,
  type ChannelContext,
  type ChannelHealth,
  type OutgoingPart,
} from '../../src/core/channels/channel.ts';

/** How one send ends: it arrives, fails so, or hangs until it is cut off. */
export type SendOutcome = 'ok' | 'hang' | Error;

export interface Sent {
  readonly chatId: string;
  readonly text: string;
  readonly part: OutgoingPart;
}

/** A channel in memory that does what a test tells it. `text` is split at `|` into parts. */
export class ScriptedChannel implements Channel {
  readonly name: string;
  readonly kind = 'scripted';
  readonly capabilities = {
    maxLength: 100,
    edit: false,
    typing: true,
    buttons: false,
    threads: true,
    media: false,
    reactions: false,
    drafts: false,
  };
  /** Every attempt, in order. */
  readonly attempts: Sent[] = [];
  /** What arrived. */
  readonly arrived: Sent[] = [];
  readonly typed: string[] = [];
  readonly contexts: ChannelContext[] = [];
  disposed = 0;
  /** What it says of its platform. */
  heard: Pick<ChannelHealth, 'lastInboundAt' | 'quietMs'> = {};
  /** What the next starts do. @default they succeed */
  readonly starts: (() => Promise<void>)[] = [];
  readonly #outcomes: { readonly chatId: string | undefined; readonly outcome: SendOutcome }[] = [];
  #hold: { readonly promise: Promise<void>; readonly release: () => void } | undefined;

  constructor(name = 'test') {
    this.name = name;
  }

  /** The next sends (of this chat) end so, one each. */
  next(outcomes: readonly SendOutcome[], chatId?: string): void {
    this.#outcomes.push(...outcomes.map((outcome) => ({ chatId, outcome })));
  }

  /** Sends wait until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#hold = { promise, release: resolve };
    return () => {
      this.#hold = undefined;
      resolve();
    };
  }

  get texts(): readonly string[] {
    return this.arrived.map(({ text }) => text);
  }

  async start(context: ChannelContext): Promise<AsyncDisposable> {
    this.contexts.push(context);
    await this.starts.shift()?.();
    return {
      [Symbol.asyncDispose]: async () => {
        this.disposed += 1;
      },
    };
  }

  /** Thrown by `render` while it is set, for texts that match. */
  unrenderable: { readonly text: RegExp; readonly error: Error } | undefined;
  rendered = 0;

  plain(text: string): readonly string[] {
    return [`(plain) ${text}`];
  }

  render(markdown: string): readonly string[] {
    this.rendered += 1;
    if (this.unrenderable?.text.test(markdown) === true) throw this.unrenderable.error;
    return markdown.split('|').filter((text) => text !== '');
  }

  async send(part: OutgoingPart): Promise<{ readonly platformId: string }> {
    const sent = { chatId: part.chatId, text: part.text, part };
    this.attempts.push(sent);
    const at = this.#outcomes.findIndex(({ chatId }) => chatId === undefined || chatId === part.chatId);
    const outcome = at < 0 ? 'ok' : this.#outcomes.splice(at, 1)[0]?.outcome;
    if (outcome instanceof Error) throw outcome;
    if (outcome === 'hang') await new Promise<never>(() => {});
    await this.#hold?.promise;
    this.arrived.push(sent);
    return { platformId: `p${this.arrived.length}` };
  }

  async typing(chat: { readonly chatId: string }): Promise<void> {
    this.typed.push(chat.chatId);
    throw new Error('typing is allowed to fail');
  }

  health(): ChannelHealth {
    return { state: 'running', ...this.heard };
  }
}

export const failing = {
  retryable: (retryAfterMs?: number): SendError =>
    new SendError('retryable', 'not reached', retryAfterMs === undefined ? {} : { retryAfterMs }),
  uncertain: (): SendError => new SendError('uncertain', 'the connection broke'),
  permanent: (): SendError => new SendError('permanent', 'blocked by the user'),
  blocked: (): SendError => new SendError('blocked', 'the bot was blocked'),
  revoked: (): SendError => new SendError('revoked', 'the token is revoked'),
};
