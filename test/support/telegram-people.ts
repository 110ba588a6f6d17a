import type { Chats } from './telegram-chats.ts';
import { isRecord } from './validate.ts';

type Payload = Readonly<Record<string, unknown>>;

interface PersonMessage {
  readonly chatId: number;
  readonly messageId: number;
  readonly text: string;
  /** Merged into the message; `from` and `chat` are merged into the defaults. */
  readonly extra?: Payload;
}

/** The person of a private chat; in a group someone with the group's number, unless the test says who. */
export function personOf(chatId: number, facts: unknown = {}): Payload {
  return { id: Math.abs(chatId), is_bot: false, first_name: 'Person', ...(isRecord(facts) ? facts : {}) };
}

/** A message as a person writes it. */
export function personMessage(chats: Chats, { chatId, messageId, text, extra = {} }: PersonMessage): Payload {
  const chat = { ...defaultChat(chatId), ...(isRecord(extra['chat']) ? extra['chat'] : {}) };
  return {
    message_id: messageId,
    date: Math.floor(Date.now() / 1000),
    text,
    ...extra,
    from: personOf(chatId, extra['from']),
    chat: chats.open(chatId, chat),
  };
}

/** Negative ids are groups. */
function defaultChat(chatId: number): Payload {
  return chatId < 0 ? { type: 'supergroup', title: `Group ${chatId}` } : { type: 'private', first_name: 'Person' };
}
