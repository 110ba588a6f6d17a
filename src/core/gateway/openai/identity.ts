import { createHash } from 'node:crypto';
import { API_CHANNEL } from '../../bus/api.ts';
import { ephemeralSession } from '../../util/ephemeral-session.ts';
import { ApiError } from './errors.ts';
import type { MessageKey } from './backend.ts';

const ACCOUNT = 'local';
/** In front of the chat id of an ephemeral session, which no client can choose. */
const EPHEMERAL_CHAT = '~';
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}.@_-]{0,63}$/u;

/** The conversation that a message of a program belongs to. */
export interface Conversation {
  /** Name of the chat on the channel of programs. */
  readonly chatId: string;
  /** It has no name: it is removed after a day, and nothing of it is remembered. */
  readonly isEphemeral: boolean;
}

/** One message of a program: its id, and the conversation that it belongs to. */
export interface MessageRef extends Conversation {
  /** Letters and digits. */
  readonly id: string;
}

/** The conversation of this name. Throws when it is no name. */
export function namedConversation(name: string, param: string): Conversation {
  if (NAME.test(name)) return { chatId: name, isEphemeral: false };
  const what = 'it must be 1 to 64 letters, digits, dots, @, _ or -, and begin with a letter or digit';
  throw new ApiError(400, `The name of the session does not fit: ${what}.`, { param, code: 'invalid_session' });
}

/** The conversation that begins with the message of this id. */
export function ephemeralConversation(id: string): Conversation {
  return { chatId: EPHEMERAL_CHAT + id, isEphemeral: true };
}

/** Id of a message: the same for the same idempotency key, else a new one. */
export function messageId(idempotencyKey: string | undefined, newId: () => string): string {
  if (idempotencyKey === undefined || idempotencyKey === '') return newId();
  return createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 32);
}

/** What names the message in the journal. */
export function keyOf({ id, chatId }: MessageRef): MessageKey {
  return { channel: API_CHANNEL, account: ACCOUNT, chatId, externalId: `api:${id}` };
}

/** The session of a conversation that has no name; undefined: the bus names it after its chat. */
export function sessionOf({ chatId, isEphemeral }: Conversation): string | undefined {
  return isEphemeral ? ephemeralSession(chatId.slice(EPHEMERAL_CHAT.length)) : undefined;
}

/** `resp_…`: names the message and its conversation, so that an answer is found without a list of answers. */
export function responseId({ id, chatId }: MessageRef): string {
  if (chatId === EPHEMERAL_CHAT + id) return `resp_${id}`;
  return `resp_${id}_${Buffer.from(chatId).toString('base64url')}`;
}

/** The reverse of `responseId`; undefined when the text is no such id. */
export function parseResponseId(text: string): MessageRef | undefined {
  const match = /^resp_(?<id>[0-9A-Za-z]{16,40})(?:_(?<chat>[\w-]{1,400}))?$/u.exec(text);
  const id = match?.groups?.['id'];
  if (id === undefined) return undefined;
  const chat = match?.groups?.['chat'];
  if (chat === undefined) return { id, ...ephemeralConversation(id) };
  const chatId = Buffer.from(chat, 'base64url').toString('utf8');
  const isEphemeral = chatId.startsWith(EPHEMERAL_CHAT);
  const name = isEphemeral ? chatId.slice(EPHEMERAL_CHAT.length) : chatId;
  return NAME.test(name) ? { id, chatId, isEphemeral } : undefined;
}
