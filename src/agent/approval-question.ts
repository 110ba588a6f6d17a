import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import { BUTTONS } from '../journal/approval-answers.ts';
import type { AskedRequest } from '../journal/approvals.ts';
import { visible } from '../security/visible.ts';

export interface QuestionFacts {
  readonly callId: string;
  readonly sessionKey: string;
  /** The message that the turn answers. */
  readonly target: InboundMessage | undefined;
  readonly request: AskedRequest;
  readonly code: string;
  /** Milliseconds since 1970. */
  readonly until: number;
}

/** The question as it is sent to a chat: whole, with everything visible, and with buttons under it. */
export function questionTo(chat: InboundMessage, facts: QuestionFacts): OutboundMessage {
  const { callId, request, code, until } = facts;
  const { title, reason, detail, always } = request;
  const yes = always === undefined ? `/approve ${code}` : `/approve ${code} (or /approve ${code} always)`;
  const text = [
    `**${visible(title)}?**${elsewhere(chat, facts)} ${visible(reason)}`,
    fenced(visible(detail)),
    `${yes} or /deny ${code}, within 10 minutes. Anything else you write here is a no.`,
  ].join('\n');
  return {
    id: `${callId}:question`,
    channel: chat.channel,
    chatId: chat.chatId,
    ...(chat.threadId === undefined ? {} : { threadId: chat.threadId }),
    kind: 'approval',
    text,
    media: [],
    buttons: [
      [
        { id: `${BUTTONS.approve}${code}`, label: 'Allow once' },
        ...(always === undefined ? [] : [{ id: `${BUTTONS.always}${code}`, label: 'Always' }]),
        { id: `${BUTTONS.deny}${code}`, label: 'Deny' },
      ],
    ],
    expiresAt: until,
    metadata: {},
  };
}

/** Which chat it is for and who wants it, where that is another one. */
function elsewhere(chat: InboundMessage, { target, sessionKey }: QuestionFacts): string {
  if (target !== undefined && target.chatId === chat.chatId && target.channel === chat.channel) return '';
  if (target === undefined) return ` (for \`${sessionKey}\`)`;
  const { name, username, id } = target.sender;
  // They chose their name themselves: it must not look like anything else.
  const who = visible(name ?? username ?? id).replaceAll(/[`*_[\]()<>\n]/gu, ' ');
  return ` (for ${who} in \`${sessionKey}\`)`;
}

/** A block that nothing in the text can end. */
function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/gu), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
