import type { IdFactory } from '../util/ids.ts';
import { othersFirst, Wake } from '../util/wake.ts';
import {
  sessionKeyOf,
  type AcceptResult,
  type Cursor,
  type InboundDraft,
  type InboundMessage,
  type OutboundEvent,
  type OutboundMessage,
} from './messages.ts';

/** A message and its place in the order of arrival. */
export interface Queued<Message> {
  readonly seq: number;
  readonly message: Message;
}

/** The durable half of the inbound queue; the journal implements it. */
export interface InboxPort {
  /** One transaction for all, and for how far they were read; resolves after the commit. */
  accept(messages: readonly InboundMessage[], cursors?: readonly Cursor[]): Promise<readonly AcceptResult[]>;
  /** Accepted messages that no turn has taken yet, oldest first, with `seq` above `after`. */
  page(after: number, limit: number): readonly Queued<InboundMessage>[];
  /** Calls back whenever `page` may have more, whoever wrote it. */
  onQueued(listener: () => void): Disposable;
}

/** The durable half of the outbound queue; the journal implements it. */
export interface OutboxPort {
  /** One transaction for all; a row that exists already is left alone. */
  enqueue(messages: readonly OutboundMessage[]): Promise<void>;
  /** Messages that wait to be sent, oldest first, with `seq` above `after`. */
  page(after: number, limit: number): readonly Queued<OutboundMessage>[];
  /** Calls back whenever `page` may have more, whoever wrote it. */
  onQueued(listener: () => void): Disposable;
}

const PAGE = 128;

/**
 * A pair of async queues between those who hear and speak (channels, cron, HTTP) and those who think (the agent).
 * The queues are rows on disk: publishing is a commit, after which the queue wakes its consumer; consuming reads pages,
 * memory holds one page.
 * Live events are not queued: a listener that is slow misses the older ones of a turn and loses nothing.
 */
export class MessageBus {
  readonly #inbox: InboxPort;
  readonly #outbox: OutboxPort;
  readonly #newId: IdFactory;
  readonly #sessionKey: (draft: InboundDraft) => string | undefined;
  readonly #inbound = new Wake();
  readonly #outbound = new Wake();
  readonly #closed = new AbortController();
  readonly #listeners = new Set<(event: OutboundEvent) => void>();
  readonly #onListenerFailure: (error: unknown) => void;

  /** `sessionKey` may name the session of a message; without an answer it is the chat's own. */
  constructor(ports: {
    inbox: InboxPort;
    outbox: OutboxPort;
    newId: IdFactory;
    sessionKey?: (draft: InboundDraft) => string | undefined;
    /** Told why a live listener was dropped. @default nobody is told */
    onListenerFailure?: (error: unknown) => void;
  }) {
    this.#onListenerFailure = ports.onListenerFailure ?? (() => {});
    this.#inbox = ports.inbox;
    this.#outbox = ports.outbox;
    const heard = [
      ports.inbox.onQueued(() => this.#inbound.wake()),
      ports.outbox.onQueued(() => this.#outbound.wake()),
    ];
    this.#closed.signal.addEventListener('abort', () => heard.forEach((one) => one[Symbol.dispose]()), { once: true });
    this.#newId = ports.newId;
    this.#sessionKey = ports.sessionKey ?? (() => undefined);
  }

  /** The session that a message will belong to. */
  sessionOf(draft: InboundDraft): string {
    return draft.sessionKey ?? this.#sessionKey(draft) ?? sessionKeyOf(draft);
  }

  /** Resolves after the commit, in the order given. Rejects when nothing could be written. */
  publishInbound(...drafts: readonly InboundDraft[]): Promise<readonly AcceptResult[]> {
    return this.publishRead(drafts, []);
  }

  /** The same with how far places were read, in the same transaction. */
  async publishRead(drafts: readonly InboundDraft[], cursors: readonly Cursor[]): Promise<readonly AcceptResult[]> {
    const messages = drafts.map((draft) => ({
      ...draft,
      id: this.#newId(),
      sessionKey: this.sessionOf(draft),
    }));
    return await this.#inbox.accept(messages, cursors);
  }

  /** Every accepted message once, in order of acceptance, until the bus closes. One consumer. */
  consumeInbound(): AsyncIterable<InboundMessage> {
    return this.#consume(this.#inbound, (after) => this.#inbox.page(after, PAGE));
  }

  /** Resolves after the commit. */
  async publishOutbound(...messages: readonly OutboundMessage[]): Promise<void> {
    await this.#outbox.enqueue(messages);
  }

  /** Every waiting outbound message once, in order, until the bus closes. One consumer. */
  consumeOutbound(): AsyncIterable<OutboundMessage> {
    return this.#consume(this.#outbound, (after) => this.#outbox.page(after, PAGE));
  }

  /** Tells live listeners. One that throws hears nothing more: no turn may end because somebody watches it. */
  emit(event: OutboundEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event);
      } catch (error) {
        this.#listeners.delete(listener);
        this.#onListenerFailure(error);
      }
    }
  }

  listen(listener: (event: OutboundEvent) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  close(): void {
    this.#closed.abort();
  }

  async *#consume<Message>(
    wake: Wake,
    read: (after: number) => readonly Queued<Message>[],
  ): AsyncGenerator<Message, void, void> {
    const { signal } = this.#closed;
    let after = 0;
    while (!signal.aborted) {
      const page = read(after);
      // Whoever takes many at once would keep everything else waiting.
      if (page.length === PAGE) await othersFirst();
      for (const { seq, message } of page) {
        after = seq;
        yield message;
        if (signal.aborted) return;
      }
      // What came since it was read is remembered by the wake.
      if (page.length < PAGE) await wake.wait(signal);
    }
  }
}
