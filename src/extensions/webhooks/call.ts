import { createHash } from 'node:crypto';
import { API_CHANNEL, parseChat, type AcceptResult, type App, type InboundDraft } from '../../core/api.ts';
import { webhookSender } from '../../core/api-tools.ts';
import { messageOf } from './template.ts';
import type { HookSettings } from './settings.ts';

const ACCOUNT = 'hook';
/** The same body again is the same call within this time. */
const SAME_BODY_MS = 600_000;

/** One call of a webhook whose caller knows its secret. */
export interface HookCall {
  readonly name: string;
  readonly settings: HookSettings;
  readonly body: Uint8Array;
  /** The caller's own key of the call; undefined: the same body within 10 minutes is the same call. */
  readonly key: string | undefined;
}

/** Publishes the message of a call. The same call twice is one message. */
export async function publishCall(call: HookCall, { clock, journal, newId, bus }: App): Promise<AcceptResult> {
  const { name, settings, body, key } = call;
  const now = clock.now();
  const place = placeOf(call);
  const bucket = Math.floor(now / SAME_BODY_MS);
  const idOf = (n: number): string =>
    `hook:${name}:${key === undefined ? `body:${sha256(body)}:${n}` : `key:${sha256(key)}`}`;
  if (key === undefined) {
    const before = journal.places.find({ ...place, externalId: idOf(bucket - 1) })?.receivedAt;
    if (before !== undefined && now - before < SAME_BODY_MS) return 'duplicate';
  }
  const draft: InboundDraft = {
    ...place,
    sessionKey: `hook:${settings.session ?? name}`,
    // Of a chat nothing is known, so it counts as one in which others read along.
    chatType: settings.chat === null ? 'direct' : 'group',
    sender: { id: webhookSender(name), name: `webhook ${name}`, isBot: true },
    role: settings.role,
    text: `${messageOf({ name, template: settings.template }, { body: textOf(body), secret: newId() })}\n\n${noteOf(settings)}`,
    media: [],
    mentioned: true,
    context: [],
    receivedAt: now,
    externalId: idOf(bucket),
    origin: 'hook',
    // The template is the owner's; what is of others is fenced, and marks the conversation.
    untrusted: false,
    metadata: { taint: { untrusted: true, private: false } },
  };
  const [accepted = 'refused'] = await bus.publishInbound(draft);
  return accepted;
}

function placeOf({
  name,
  settings: { chat },
}: HookCall): Pick<InboundDraft, 'channel' | 'account' | 'chatId' | 'threadId'> {
  const answered = chat === null ? undefined : parseChat(chat);
  return { account: ACCOUNT, ...(answered ?? { channel: API_CHANNEL, chatId: `hook:${name}` }) };
}

function noteOf({ chat }: HookSettings): string {
  const end = chat === null ? 'no one reads your answer' : 'your last text is sent to this chat';
  return `A webhook started this turn, and no one waits for an answer; ${end}.`;
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body).toString('utf8');
}

function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
