import type { OutboxPort } from '../bus/bus.ts';

/** The same outbox: what is put into it is free of secrets. */
export function cleanOutbox(outbox: OutboxPort, redact: (text: string) => string): OutboxPort {
  return {
    enqueue: (messages) => outbox.enqueue(messages.map((message) => ({ ...message, text: redact(message.text) }))),
    page: (after, limit) => outbox.page(after, limit),
    onQueued: (listener) => outbox.onQueued(listener),
  };
}
