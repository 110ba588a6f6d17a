import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import type { OutboundDraft } from '../journal/outbox.ts';
import type { Redact } from '../security/redact/redact.ts';
import type { ChatAddress } from '../tools/tool.ts';

/** An answer that could not be delivered for so long is not sent any more. */
const ANSWER_TTL_MS = 24 * 3_600_000;
const HEARTBEAT_TTL_MS = 2 * 3_600_000;

/** The parts that the channel of a message will send; empty when the channel is not known yet. */
export type RenderParts = (message: OutboundMessage) => readonly string[];

interface PartPorts {
  readonly render: RenderParts;
  readonly redact: Redact;
}

export interface OutboundText {
  readonly id: string;
  readonly kind: OutboundMessage['kind'];
  readonly text: string;
  readonly turnId?: string;
  /** An answer that is not the model's but the program's own words. @default false */
  readonly own?: boolean;
  /** Its markup is not read: it is shown as it is, since reading it may be what fails. @default false */
  readonly plain?: boolean;
}

/** The chat in which a message was written. */
export function chatOf({ channel, chatId, threadId }: InboundMessage): ChatAddress {
  return { channel, chatId, ...(threadId === undefined ? {} : { threadId }) };
}

/** A message to the chat of `target`. */
export function outboundTo(target: InboundMessage, content: OutboundText, now: number): OutboundMessage {
  return {
    id: content.id,
    ...chatOf(target),
    kind: content.kind,
    text: content.text,
    media: [],
    ...(content.turnId === undefined ? {} : { turnId: content.turnId }),
    expiresAt: now + (target.origin === 'heartbeat' ? HEARTBEAT_TTL_MS : ANSWER_TTL_MS),
    metadata: { ...(content.own === true ? { own: true } : {}), ...(content.plain === true ? { plain: true } : {}) },
  };
}

/** What is said in place of an answer about a message that is given up: once for a turn, however often it is queued. */
export function deadNotice(
  turnId: string,
  target: InboundMessage,
  text: string,
  { now, ...ports }: PartPorts & { readonly now: number },
): OutboundDraft {
  const content = { id: `${turnId}:dead`, kind: 'notice', text, turnId, plain: true } as const;
  return withParts(outboundTo(target, content, now), ports);
}

/** Without secrets and with its parts, so that closing a turn and rendering what it says are one transaction. */
export function withParts(message: OutboundMessage, { render, redact }: PartPorts): OutboundDraft {
  const clean = { ...message, text: redact(message.text) };
  return { message: clean, parts: render(clean) };
}
