import type { Inbox } from '../journal/inbox.ts';
import type { Outbox } from '../journal/outbox.ts';
import type { IdFactory } from '../util/ids.ts';
import { othersFirst, Wake } from '../util/wake.ts';
import { wellFormed } from '../util/well-formed.ts';
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

/** The durable halves of the queues. */
type DurableInbox = Pick<Inbox, 'accept' | 'page' | 'onQueued'>;
export type DurableOutbox = Pick<Outbox, 'enqueue' | 'page' | 'onQueued'>;

const PAGE = 128;

/**
 * Two async queues between the sources of messages (channels, cron, HTTP) and the agent: inbound and outbound.
 * Their messages are rows on disk: publishing commits and wakes the consumer, which reads pages of 128 rows.
 * Live events (`emit`, `listen`) are not queued and not stored.
 */
export class MessageBus {
  readonly #inbox: DurableInbox;
  readonly #outbox: DurableOutbox;
  readonly #newId: IdFactory;
  readonly #sessionKey: (draft: InboundDraft) => string | undefined;
  readonly #inbound = new Wake();
  readonly #outbound = new Wake();
  readonly #closed = new AbortController();
  readonly #listeners = new Set<(event: OutboundEvent) => void>();
  readonly #accepted = new Set<(message: InboundMessage) => void>();
  readonly #onListenerFailure: (error: unknown) => void;

  constructor(options: {
    inbox: DurableInbox;
    outbox: DurableOutbox;
    newId: IdFactory;
    /** Names the session of a message; undefined: the session of its chat. @default always undefined */
    sessionKey?: (draft: InboundDraft) => string | undefined;
    /** Called with the error of a live listener, which is then removed. @default ignored */
    onListenerFailure?: (error: unknown) => void;
  }) {
    this.#onListenerFailure = options.onListenerFailure ?? (() => {});
    this.#inbox = options.inbox;
    this.#outbox = options.outbox;
    const heard = [
      options.inbox.onQueued(() => this.#inbound.wake()),
      options.outbox.onQueued(() => this.#outbound.wake()),
    ];
    this.#closed.signal.addEventListener('abort', () => heard.forEach((one) => one[Symbol.dispose]()), { once: true });
    this.#newId = options.newId;
    this.#sessionKey = options.sessionKey ?? (() => undefined);
  }

  /** Key of the session that a message will belong to. */
  sessionOf(draft: InboundDraft): string {
    return draft.sessionKey ?? this.#sessionKey(draft) ?? sessionKeyOf(draft);
  }

  /** Writes messages in one transaction; resolves after the commit, with results in the order given. Rejects when nothing was written. */
  publishInbound(...drafts: readonly InboundDraft[]): Promise<readonly AcceptResult[]> {
    return this.publishRead(drafts, []);
  }

  /** As `publishInbound`, with read cursors in the same transaction. */
  async publishRead(drafts: readonly InboundDraft[], cursors: readonly Cursor[]): Promise<readonly AcceptResult[]> {
    const messages = drafts.map((given) => {
      const draft = wellFormed(given);
      return { ...draft, id: this.#newId(), sessionKey: this.sessionOf(draft) };
    });
    const results = await this.#inbox.accept(messages, cursors);
    for (const [n, message] of messages.entries())
      if (results[n] === 'accepted') for (const listener of this.#accepted) listener(message);
    return results;
  }

  /** Calls back, after the commit, with each message that a source published and that was accepted. Must not throw. */
  onAccepted(listener: (message: InboundMessage) => void): Disposable {
    this.#accepted.add(listener);
    return { [Symbol.dispose]: () => this.#accepted.delete(listener) };
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

  /** Calls the live listeners. A listener that throws is removed, so that it cannot end the turn. */
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
      // More pages follow: other work of the event loop gets its round first.
      if (page.length === PAGE) await othersFirst();
      for (const { seq, message } of page) {
        after = seq;
        yield message;
        if (signal.aborted) return;
      }
      // `Wake` remembers a message that was queued after the page was read.
      if (page.length < PAGE) await wake.wait(signal);
    }
  }
}
