import * as z from 'zod';
import type { InboundMessage } from './messages.ts';

/** The channel of programs: nothing is sent to them, they read an answer from the session that it belongs to. */
export const API_CHANNEL = 'api';

const part = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  /** Stored under its SHA-256. */
  z.object({ type: z.literal('image'), mediaType: z.string(), hash: z.string() }),
]);

const given = z.object({
  role: z.enum(['user', 'assistant']),
  content: z.array(part),
  /** It is text of others, such as a tool's result. @default false */
  untrusted: z.boolean().optional(),
});

const facts = z.object({
  /** What the program says about how to answer; a layer of the prompt. @default '' */
  instructions: z.string().default(''),
  /** It asked for an answer that is JSON and nothing else. @default false */
  json: z.boolean().default(false),
  /** What was said before the message, oldest first; it is put on the tape before the turn. @default nothing */
  conversation: z.array(given).default([]),
  /** A short text for the program itself, such as a title: no tools, and a prompt of one sentence. @default false */
  light: z.boolean().default(false),
  /** The chat in which approvals are asked, as `channel:chat`; null: each is refused. @default null */
  ask: z.string().nullable().default(null),
  /** It is no message: it stops what runs in the session. @default false */
  stop: z.boolean().default(false),
  /** External id of the only message that a stop applies to. If null, it stops the whole session. @default null */
  only: z.string().nullable().default(null),
});

/** A message of the conversation that a program brings with its own. */
export type GivenMessage = z.infer<typeof given>;

/** What a program adds to its message. */
export type ApiFacts = z.infer<typeof facts>;

/** The facts in a message that came through the API; null for any other message. */
export function apiFactsOf(message: Pick<InboundMessage, 'origin' | 'metadata'> | undefined): ApiFacts | null {
  if (message?.origin !== 'api') return null;
  return facts.safeParse(message.metadata[API_CHANNEL] ?? {}).data ?? facts.parse({});
}
