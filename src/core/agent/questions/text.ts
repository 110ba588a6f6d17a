import type { Button, InboundMessage, OutboundMessage } from '../../bus/messages.ts';
import { APPROVAL_BUTTONS, CHOICE_BUTTON } from '../../bus/buttons.ts';
import { questionId, type AskedRequest } from '../../journal/questions.ts';
import { withMarkedHosts } from '../../security/text/look-alike-hosts.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import type { ApprovalRequest, AskedQuestion } from '../../tools/tool.ts';
import { plural, sentences } from '../../util/text.ts';
import { chatOf } from '../outgoing.ts';

/** The file with the whole text of a call that is too long for a message; it is sent before the question. */
export interface AttachedWhole {
  readonly name: string;
  readonly characters: number;
  /** SHA-256 of its text, in hex. */
  readonly hash: string;
}

export interface QuestionFacts {
  readonly callId: string;
  readonly sessionKey: string;
  /** The message that the turn answers. */
  readonly target: InboundMessage | undefined;
  readonly request: AskedRequest;
  readonly code: string;
  /** The question belongs to a turn of this chat, so an answer needs no code. */
  readonly own: boolean;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** @default the question itself contains the whole text */
  readonly whole?: AttachedWhole;
}

/**
 * A request as people see it in every chat and on the page: exactly the text that will run, with control characters made
 * visible. Only configured secrets are replaced (`mask`); then the reason says so.
 */
export function shownRequest(
  { title, detail, reason, always }: ApprovalRequest,
  mask: (text: string) => string,
): AskedRequest {
  const masked = mask(detail);
  return {
    title: escapeControlChars(mask(title)),
    detail: withMarkedHosts(escapeControlChars(masked)),
    reason: sentences(
      escapeControlChars(mask(reason)),
      masked === detail ? '' : 'It holds a configured secret, which is shown here as [redacted]',
    ),
    always,
  };
}

/** Makes the message of an approval question, with its buttons. */
export function approvalTo(chat: InboundMessage, facts: QuestionFacts): OutboundMessage {
  const { callId, request, code, own, until, whole } = facts;
  const { title, reason, detail, always } = request;
  const yes = always === undefined ? `/approve ${code}` : `/approve ${code} (or /approve ${code} always)`;
  const words = own ? ' Anything else you write here is a no.' : '';
  const instructions = `${yes} or /deny ${code}, within 10 minutes.${words}`;
  const text = [
    `**${title}?**${elsewhere(chat, facts)} ${reason}`,
    whole === undefined ? fenced(detail) : inFile(whole),
    instructions,
  ].join('\n');
  return {
    id: questionId(callId),
    ...chatOf(chat),
    kind: 'approval',
    text,
    media: [],
    buttons: [
      [
        { id: `${APPROVAL_BUTTONS.approve}${code}`, label: 'Allow once' },
        ...(always === undefined ? [] : [{ id: `${APPROVAL_BUTTONS.always}${code}`, label: 'Always' }]),
        { id: `${APPROVAL_BUTTONS.deny}${code}`, label: 'Deny' },
      ],
    ],
    expiresAt: until,
    metadata: { [INSTRUCTIONS]: instructions },
  };
}

/** Makes the message of a question of the model. Choices are numbered, for platforms without buttons. */
export function askTo(
  chat: InboundMessage,
  facts: Pick<QuestionFacts, 'callId' | 'code' | 'until'>,
  { text, choices }: AskedQuestion,
): OutboundMessage {
  const listed = choices.map((choice, n) => `${n + 1}. ${choice}`).join('\n');
  const button = (label: string, n: number): Button => ({ id: `${CHOICE_BUTTON}${facts.code}:${n}`, label });
  return {
    id: questionId(facts.callId),
    ...chatOf(chat),
    kind: 'approval',
    text: choices.length === 0 ? text : `${text}\n\n${listed}`,
    media: [],
    ...(choices.length === 0 ? {} : { buttons: choices.map((label, n) => [button(label, n)]) }),
    expiresAt: facts.until,
    metadata: {},
  };
}

/** Metadata field of a question: its last line, which is removed when the question is over. */
const INSTRUCTIONS = 'instructions';

/** The text of a question that is over: without its instructions, with the outcome `words` at the end. */
export function closedText({ text, metadata }: Pick<OutboundMessage, 'text' | 'metadata'>, words: string): string {
  const instructions = metadata[INSTRUCTIONS];
  const isLast = typeof instructions === 'string' && text.endsWith(instructions);
  return `${(isLast ? text.slice(0, -instructions.length) : text).trimEnd()}\n\n**${words}**`;
}

function inFile({ name, characters, hash }: AttachedWhole): string {
  return `It is too long for one message: all of it (${plural(characters, 'character')}) is in the file ${name} above. A yes allows exactly that text, SHA-256 \`${hash}\`.`;
}

/** ` (for NAME in CHAT)` when the turn is in another chat; else ''. */
function elsewhere(chat: InboundMessage, { target, sessionKey }: QuestionFacts): string {
  if (target !== undefined && target.chatId === chat.chatId && target.channel === chat.channel) return '';
  if (target === undefined) return ` (for \`${sessionKey}\`)`;
  const { name, username, id } = target.sender;
  // People choose their names: a name must not be able to look like other text.
  const who = escapeControlChars(name ?? username ?? id).replaceAll(/[`*_[\]()<>\n]/gu, ' ');
  return ` (for ${who} in \`${sessionKey}\`)`;
}

/** A Markdown code block whose fence is longer than any run of backticks in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`+/gu), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
