import type { App } from '../app.ts';
import { ANSWER_TTL, FROM, ONLY_TO, UNTRUSTED, type InboundMessage, type OutboundMessage } from '../bus/messages.ts';
import type { OutboundDraft } from '../journal/outbox.ts';
import type { ChatAddress } from '../tools/tool.ts';

/** An answer that could not be delivered within this time is no longer sent. */
const ANSWER_TTL_MS = 24 * 3_600_000;

export interface OutboundText {
  readonly id: string;
  readonly kind: OutboundMessage['kind'];
  readonly text: string;
  readonly turnId?: string;
  /** The text comes from the program, not from the model. @default false */
  readonly own?: boolean;
  /** It was said while untrusted text was in the conversation. @default false */
  readonly untrusted?: boolean;
  /** Send the text literally, without rendering its Markdown, because rendering may be what fails. @default false */
  readonly plain?: boolean;
}

/** The chat in which a message was written. */
export function chatOf({ channel, chatId, threadId }: InboundMessage): ChatAddress {
  return { channel, chatId, ...(threadId === undefined ? {} : { threadId }) };
}

/** Makes an outbound message to the chat of `target`. */
export function outboundTo(target: InboundMessage, content: OutboundText, now: number): OutboundMessage {
  const ttlMs = target.metadata[ANSWER_TTL];
  return {
    id: content.id,
    ...chatOf(target),
    kind: content.kind,
    text: content.text,
    media: [],
    ...(content.turnId === undefined ? {} : { turnId: content.turnId }),
    expiresAt: now + (typeof ttlMs === 'number' ? ttlMs : ANSWER_TTL_MS),
    metadata: {
      ...(content.own === true ? { own: true } : {}),
      ...(content.plain === true ? { plain: true } : {}),
      ...(content.untrusted === true ? { [UNTRUSTED]: true } : {}),
      ...(target.origin === 'user' ? {} : textAt(target, FROM)),
      ...textAt(target, ONLY_TO),
    },
  };
}

function textAt({ metadata }: InboundMessage, key: string): Readonly<Record<string, string>> {
  const value = metadata[key];
  return typeof value === 'string' ? { [key]: value } : {};
}

/** The notice in place of an answer when a turn is given up. Its id is fixed by the turn, so it is sent only once. */
export function deadNotice(turnId: string, target: InboundMessage, text: string, app: App): OutboundDraft {
  const content = { id: `${turnId}:dead`, kind: 'notice', text, turnId, plain: true } as const;
  return withParts(outboundTo(target, content, app.clock.now()), app);
}

/**
 * Redacts a message and renders its parts, so that the transaction that closes a turn can store them. A channel that is not
 * running yet gives none.
 */
export function withParts(message: OutboundMessage, { redact, channels }: App): OutboundDraft {
  const clean = { ...message, text: redact(message.text) };
  return { message: clean, parts: channels.manager.renderParts(clean) ?? [] };
}
