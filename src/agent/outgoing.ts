import { FROM, ONLY_TO, type InboundMessage, type OutboundMessage } from '../bus/messages.ts';
import type { OutboundDraft } from '../journal/outbox.ts';
import type { Redact } from '../security/redact/redact.ts';
import type { ChatAddress } from '../tools/tool.ts';

/** An answer that could not be delivered within this time is no longer sent; that of a heartbeat sooner. */
const ANSWER_TTL_MS = 24 * 3_600_000;
const HEARTBEAT_TTL_MS = 2 * 3_600_000;

/** Renders a message into the parts that its channel sends; empty when the channel is not running yet. */
export type RenderParts = (message: OutboundMessage) => readonly string[];

export interface PartPorts {
  readonly render: RenderParts;
  readonly redact: Redact;
}

export interface OutboundText {
  readonly id: string;
  readonly kind: OutboundMessage['kind'];
  readonly text: string;
  readonly turnId?: string;
  /** The text comes from the program, not from the model. @default false */
  readonly own?: boolean;
  /** Send the text literally, without rendering its Markdown, because rendering may be what fails. @default false */
  readonly plain?: boolean;
}

/** The chat in which a message was written. */
export function chatOf({ channel, chatId, threadId }: InboundMessage): ChatAddress {
  return { channel, chatId, ...(threadId === undefined ? {} : { threadId }) };
}

/** Makes an outbound message to the chat of `target`. */
export function outboundTo(target: InboundMessage, content: OutboundText, now: number): OutboundMessage {
  return {
    id: content.id,
    ...chatOf(target),
    kind: content.kind,
    text: content.text,
    media: [],
    ...(content.turnId === undefined ? {} : { turnId: content.turnId }),
    expiresAt: now + (target.origin === 'heartbeat' ? HEARTBEAT_TTL_MS : ANSWER_TTL_MS),
    metadata: {
      ...(content.own === true ? { own: true } : {}),
      ...(content.plain === true ? { plain: true } : {}),
      ...fromOf(target),
      ...(typeof target.metadata[ONLY_TO] === 'string' ? { [ONLY_TO]: target.metadata[ONLY_TO] } : {}),
    },
  };
}

/** What began the turn that a message answers, where no person did. */
function fromOf({ origin, metadata }: InboundMessage): Readonly<Record<string, string>> {
  switch (origin) {
    case 'cron':
      return { [FROM]: `the job ${String(metadata['job'])}` };
    case 'heartbeat':
      return { [FROM]: 'the heartbeat' };
    case 'system':
      return { [FROM]: 'a command in the background' };
    default:
      return {};
  }
}

/** The notice in place of an answer when a turn is given up. Its id is fixed by the turn, so it is sent only once. */
export function deadNotice(
  turnId: string,
  target: InboundMessage,
  text: string,
  { now, ...ports }: PartPorts & { readonly now: number },
): OutboundDraft {
  const content = { id: `${turnId}:dead`, kind: 'notice', text, turnId, plain: true } as const;
  return withParts(outboundTo(target, content, now), ports);
}

/** Redacts a message and renders its parts, so that the transaction that closes a turn can store them. */
export function withParts(message: OutboundMessage, { render, redact }: PartPorts): OutboundDraft {
  const clean = { ...message, text: redact(message.text) };
  return { message: clean, parts: render(clean) };
}
