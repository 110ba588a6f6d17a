import * as z from 'zod';

/** A message that waits. */
const waiting = z.object({
  id: z.string(),
  channel: z.string(),
  chat: z.string(),
  state: z.string(),
  /** Why it did not arrive yet; null: no failure so far. */
  reason: z.string().nullable(),
  /** Milliseconds since 1970. */
  createdAt: z.number(),
  /** The beginning of its text, on one line. */
  text: z.string(),
});

/** An outbound message that waits or did not arrive. */
export const outboxItem = waiting.extend({ kind: z.string(), attempts: z.number() });
export type OutboxItem = Readonly<z.output<typeof outboxItem>>;

/** An inbound message that waits, is being answered, was refused or was given up. */
export const inboxItem = waiting.extend({ who: z.string() });
export type InboxItem = Readonly<z.output<typeof inboxItem>>;
