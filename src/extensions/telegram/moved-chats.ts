import type { Api } from 'grammy/web';
import * as z from 'zod';
import type { ChannelContext } from '../../core/api-channels.ts';
import { errorMessage, oneLine } from '../../core/api.ts';
import type { TelegramUpdate } from './update.ts';

/**
 * A group that becomes a supergroup gets a new id, and its message ids start over. The assistant, its journal and its settings keep
 * the old chat id. Message ids of the new chat are raised by this, so that none is mistaken for one of the old chat.
 */
const FIRST_ID = 2 ** 32;
/** In front of the old id, as the place of a cursor. */
const PLACE = 'moved:';

const refusal = z.object({ ok: z.literal(false), parameters: z.object({ migrate_to_chat_id: z.number() }) });
const sent = z.looseObject({ message_id: z.number() });
type Transformer = Parameters<Api['config']['use']>[0];

/** The chats of one bot that moved. */
export class MovedChats {
  readonly #channel: string;
  readonly #context: Pick<ChannelContext, 'cursors' | 'accept' | 'tellOwner' | 'log'>;
  readonly #newOf = new Map<string, number>();
  readonly #oldOf = new Map<number, number>();

  constructor(channel: string, context: Pick<ChannelContext, 'cursors' | 'accept' | 'tellOwner' | 'log'>) {
    this.#channel = channel;
    this.#context = context;
    for (const [place, last] of context.cursors()) {
      if (place.startsWith(PLACE)) this.#know(Number(place.slice(PLACE.length)), Number(last));
    }
  }

  /** An update as if its chat had never moved. Resolves when a move that it tells of is written down. */
  async read(update: TelegramUpdate): Promise<TelegramUpdate> {
    const message = update.message ?? update.edited_message;
    const { migrate_to_chat_id: to, migrate_from_chat_id: from, chat } = message ?? {};
    if (chat !== undefined && to !== undefined) await this.#note(chat.id, to, chat.title);
    if (chat !== undefined && from !== undefined) await this.#note(from, chat.id, chat.title);
    const { callback_query: press, message_reaction: reaction } = update;
    return {
      ...update,
      ...(update.message === undefined ? {} : { message: this.#readMessage(update.message) }),
      ...(update.edited_message === undefined ? {} : { edited_message: this.#readMessage(update.edited_message) }),
      ...(press?.message === undefined
        ? {}
        : { callback_query: { ...press, message: this.#readMessage(press.message) } }),
      ...(reaction === undefined ? {} : { message_reaction: this.#readMessage(reaction) }),
    };
  }

  /** Sends calls to where the chat is now; one to a chat that moved meanwhile goes there at once. */
  readonly transform: Transformer = async (call, method, payload, signal) => {
    // grammY's types know the payload of each method, and these fields are the same in all of them.
    const send = async (): Promise<Awaited<ReturnType<typeof call>>> => {
      const written = this.#written(payload) as typeof payload;
      const answer = await call(method, written, signal);
      // Another call may have noted the move meanwhile.
      return written === payload ? answer : this.#result(answer);
    };
    const chat = Number((payload as SentPlace).chat_id);
    const wasMoved = this.#newOf.has(String(chat));
    const answer = await send();
    const to = refusal.safeParse(answer).data?.parameters.migrate_to_chat_id;
    if (to === undefined || wasMoved || !Number.isSafeInteger(chat)) return answer;
    await this.#note(chat, to);
    return await send();
  };

  #know(old: number, now: number): void {
    this.#newOf.set(String(old), now);
    this.#oldOf.set(now, old);
  }

  async #note(old: number, now: number, title?: string): Promise<void> {
    if (this.#newOf.has(String(old))) return;
    const { accept, tellOwner, log } = this.#context;
    await accept([], [{ place: `${PLACE}${old}`, last: String(now) }]);
    this.#know(old, now);
    log.info('telegram: a group moved', { from: old, to: now });
    const name = title === undefined ? `The group ${old}` : `The group “${oneLine(title, 60)}”`;
    const text = `${name} on ${this.#channel} became a supergroup, with the id ${now}. I go on there with the same conversation, rights and jobs; settings keep its old id, ${old}.`;
    await tellOwner(`moved:${this.#channel}:${old}`, text).catch((error: unknown) =>
      log.warn('telegram: notice of a moved group not queued', { reason: errorMessage(error) }),
    );
  }

  #readMessage<Message extends MessagePlace>(message: Message): Message {
    const old = this.#oldOf.get(message.chat.id);
    if (old === undefined) return message;
    const { reply_to_message: answered, message_thread_id: thread } = message;
    // The first message of a topic is recognized by the topic's id.
    const isTopic = answered !== undefined && answered.message_id === thread;
    return {
      ...message,
      chat: { ...message.chat, id: old },
      message_id: message.message_id + FIRST_ID,
      ...(answered === undefined || isTopic
        ? {}
        : { reply_to_message: { ...answered, message_id: answered.message_id + FIRST_ID } }),
    };
  }

  #written(payload: object): object {
    const { chat_id: chat, message_id: id, reply_parameters: answers, ...rest } = payload as SentPlace;
    const now = this.#newOf.get(String(chat));
    if (now === undefined) return payload;
    const answered = answers === undefined ? undefined : answers.message_id - FIRST_ID;
    return {
      ...rest,
      chat_id: now,
      ...(id === undefined ? {} : { message_id: id >= FIRST_ID ? id - FIRST_ID : id }),
      // What stood in the old chat cannot be answered in the new one.
      ...(answered === undefined || answered < 0 ? {} : { reply_parameters: { ...answers, message_id: answered } }),
    };
  }

  /** The answer to a call to a new chat, with the ids of its messages as they are here. */
  #result<Answer>(answer: Answer): Answer {
    if (typeof answer !== 'object' || answer === null) return answer;
    const { result } = answer as { readonly result?: unknown };
    const shifted = (one: unknown): unknown => {
      const message = sent.safeParse(one).data;
      return message === undefined ? one : { ...message, message_id: message.message_id + FIRST_ID };
    };
    return { ...answer, result: Array.isArray(result) ? result.map(shifted) : shifted(result) };
  }
}

interface MessagePlace {
  readonly chat: { readonly id: number };
  readonly message_id: number;
  readonly message_thread_id?: number;
  readonly reply_to_message?: { readonly message_id: number };
}

interface SentPlace {
  readonly chat_id?: unknown;
  readonly message_id?: number;
  readonly reply_parameters?: { readonly message_id: number };
}
