import { SendError, type Channel, type ChannelContext, type ChannelState, type OutgoingPart } from './channel.ts';

const NOBODY_WAIT_MS = 3_600_000;

/** A message for an attached terminal. */
export interface TerminalMessage {
  /** The outbound message's id. */
  readonly id: string;
  readonly text: string;
  readonly kind: OutgoingPart['kind'];
  readonly turnId?: string;
  /** What sent it by itself. */
  readonly from?: string;
  readonly platformId: string;
}

/** Shows a message at a terminal. If it throws, the message counts as not shown. */
export type TerminalListener = (message: TerminalMessage) => void;

/**
 * The channel of terminals; a chat id is the name of a terminal session. A message waits until a terminal is attached to
 * its chat, then all attached terminals get it.
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

  /** Sends the messages of a chat to `listener`, waiting ones first, until the result is disposed of. */
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
      ...(part.from === undefined ? {} : { from: part.from }),
    };
    let taken = 0;
    for (const listener of this.#attached.get(part.chatId) ?? []) {
      try {
        listener(message);
        taken += 1;
      } catch {
        // The terminal is gone and will detach by itself.
      }
    }
    if (taken === 0) throw new SendError('retryable', 'no terminal is attached', { retryAfterMs: NOBODY_WAIT_MS });
    return { platformId: message.platformId };
  }

  health(): { readonly state: ChannelState } {
    return { state: this.#state };
  }
}
