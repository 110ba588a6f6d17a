import { SendError, type Channel, type ChannelContext, type ChannelState, type OutgoingPart } from './channel.ts';

const NOBODY_WAIT_MS = 3_600_000;

/** What an attached terminal is told. */
export interface TerminalMessage {
  /** The outbound message's id. */
  readonly id: string;
  readonly text: string;
  readonly kind: OutgoingPart['kind'];
  readonly turnId?: string;
  readonly platformId: string;
}

/** Takes a message; one that throws has not taken it. */
export type TerminalListener = (message: TerminalMessage) => void;

/**
 * The terminal as a channel: a chat is a terminal session by name. A message waits until somebody is attached to its
 * chat, then everybody attached gets it.
 */
export class TerminalChannel implements Channel {
  readonly name = 'terminal';
  readonly kind = 'terminal';
  readonly capabilities = {
    maxLength: Number.MAX_SAFE_INTEGER,
    edit: false,
    typing: false,
    buttons: false,
    threads: false,
    media: false,
    reactions: false,
    drafts: false,
  };
  readonly #attached = new Map<string, Set<TerminalListener>>();
  #context: ChannelContext | undefined;
  #state: ChannelState = 'stopped';

  async start(context: ChannelContext): Promise<AsyncDisposable> {
    this.#context = context;
    this.#state = 'running';
    for (const chatId of this.#attached.keys()) context.wake(chatId);
    return {
      [Symbol.asyncDispose]: async () => {
        this.#context = undefined;
        this.#state = 'stopped';
      },
    };
  }

  /** From now on this chat's messages come here, those that waited first. */
  attach(chatId: string, listener: TerminalListener): Disposable {
    const listeners = this.#attached.get(chatId) ?? new Set();
    this.#attached.set(chatId, listeners.add(listener));
    this.#context?.wake(chatId);
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener);
        if (listeners.size === 0 && this.#attached.get(chatId) === listeners) this.#attached.delete(chatId);
      },
    };
  }

  render(markdown: string): readonly string[] {
    return markdown.trim() === '' ? [] : [markdown];
  }

  plain(text: string): readonly string[] {
    return this.render(text);
  }

  async send(part: OutgoingPart): Promise<{ readonly platformId: string }> {
    const message: TerminalMessage = {
      id: part.messageId,
      text: part.text,
      kind: part.kind,
      platformId: part.nonce,
      ...(part.turnId === undefined ? {} : { turnId: part.turnId }),
    };
    let taken = 0;
    for (const listener of this.#attached.get(part.chatId) ?? []) {
      try {
        listener(message);
        taken += 1;
      } catch {
        // Its terminal is gone; it detaches by itself.
      }
    }
    if (taken === 0) throw new SendError('retryable', 'nobody is attached', { retryAfterMs: NOBODY_WAIT_MS });
    return { platformId: message.platformId };
  }

  health(): { readonly state: ChannelState } {
    return { state: this.#state };
  }
}
