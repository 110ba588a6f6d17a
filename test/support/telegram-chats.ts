import { parseTelegramHtml } from './telegram-html.ts';
import { isRecord } from './validate.ts';

/** A message of the bot as it stands in the chat now. */
export interface SentMessage {
  readonly chatId: number;
  readonly messageId: number;
  /** As sent, markup and all. */
  text: string;
  parseMode: string | undefined;
  /** What people see. */
  visibleText: string;
  /** When it was first sent; milliseconds since 1970. */
  readonly at: number;
  readonly replyTo: number | undefined;
  readonly threadId: number | undefined;
  /** What people saw before each edit, oldest first. */
  editedFrom?: readonly string[];
  replyMarkup: unknown;
  /** What was sent instead of a text. */
  file?: { readonly kind: string; readonly name: string; readonly bytes: Uint8Array };
  /** The latest call's parameters. */
  payload: Readonly<Record<string, unknown>>;
}

/** What is shown of an answer that is still written; no message. */
export interface ShownDraft {
  readonly chatId: number;
  readonly draftId: number;
  readonly visibleText: string;
  readonly threadId: number | undefined;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** A refusal with Telegram's own words. */
export class BotApiError extends Error {
  readonly status: number;

  constructor(status: number, description: string) {
    super(description);
    this.name = 'BotApiError';
    this.status = status;
  }
}

type Payload = Readonly<Record<string, unknown>>;

const LONGEST_TEXT = 4096;
/** https://core.telegram.org/bots/api#reactiontypeemoji */
const REACTIONS = new Set(
  '❤ 👍 👎 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 🤷‍♀ 😡'.split(
    ' ',
  ),
);

/** The chats and messages that the server keeps. */
export class Chats {
  readonly bot: Payload;
  readonly sent: SentMessage[] = [];
  readonly drafts: ShownDraft[] = [];
  readonly #chats = new Map<number, Payload>();
  readonly #messageIds = new Map<number, Set<number>>();
  readonly #reactions = new Map<string, string>();
  #nextMessageId = 1;

  constructor(bot: Payload) {
    this.bot = bot;
  }

  /** A chat that people opened; any number is a private chat until this says otherwise. */
  open(chatId: number, facts: Payload): Payload {
    const chat = { id: chatId, type: 'private', ...this.#chats.get(chatId), ...facts };
    this.#chats.set(chatId, chat);
    return chat;
  }

  newMessageId(chatId: number): number {
    const id = this.#nextMessageId;
    this.#nextMessageId += 1;
    const ids = this.#messageIds.get(chatId) ?? new Set();
    this.#messageIds.set(chatId, ids.add(id));
    return id;
  }

  send(payload: Payload, file?: NonNullable<SentMessage['file']>): Payload {
    const chatId = chatIdOf(payload);
    const content =
      file === undefined
        ? contentOf(payload)
        : {
            text: '',
            parseMode: undefined,
            visibleText: `${typeof payload['caption'] === 'string' ? payload['caption'] : ''}[${file.kind} ${file.name}]`,
          };
    const replyTo = replyTarget(payload);
    if (replyTo !== undefined && this.#messageIds.get(chatId)?.has(replyTo.messageId) !== true && !replyTo.lenient) {
      throw new BotApiError(400, 'Bad Request: message to be replied not found');
    }
    const threadId = payload['message_thread_id'];
    const message: SentMessage = {
      chatId,
      messageId: this.newMessageId(chatId),
      ...content,
      at: Date.now(),
      replyTo: replyTo?.messageId,
      threadId: typeof threadId === 'number' ? threadId : undefined,
      replyMarkup: markupOf(payload),
      ...(file === undefined ? {} : { file }),
      payload,
    };
    this.sent.push(message);
    return this.#asMessage(message);
  }

  /** The bot's reaction on a message; '' for none. */
  reactionOn(chatId: number, messageId: number): string {
    return this.#reactions.get(`${chatId}:${messageId}`) ?? '';
  }

  /** Sets the one reaction that a bot may have on a message, or takes it away. */
  react(payload: Payload): true {
    const [chatId, messageId, reaction] = [chatIdOf(payload), Number(payload['message_id']), payload['reaction'] ?? []];
    if (this.#messageIds.get(chatId)?.has(messageId) !== true)
      throw new BotApiError(400, 'Bad Request: message to react not found');
    if (!Array.isArray(reaction)) throw new BotApiError(400, "Bad Request: can't parse reaction types JSON object");
    const emojis = reaction.map((one: unknown) =>
      isRecord(one) && one['type'] === 'emoji' ? String(one['emoji']) : '',
    );
    if (emojis.some((emoji) => !REACTIONS.has(emoji))) throw new BotApiError(400, 'Bad Request: REACTION_INVALID');
    if (emojis.length > 1) throw new BotApiError(400, 'Bad Request: REACTIONS_TOO_MANY');
    this.#reactions.set(`${chatId}:${messageId}`, emojis[0] ?? '');
    return true;
  }

  draft(payload: Payload): true {
    const [chatId, draftId, threadId] = [chatIdOf(payload), payload['draft_id'], payload['message_thread_id']];
    if (chatId < 0) throw new BotApiError(400, 'Bad Request: TEXTDRAFT_PEER_INVALID');
    if (!Number.isSafeInteger(draftId) || draftId === 0) throw new BotApiError(400, 'Bad Request: invalid draft_id');
    const { visibleText } = contentOf(payload);
    this.drafts.push({
      chatId,
      draftId: Number(draftId),
      visibleText,
      threadId: typeof threadId === 'number' ? threadId : undefined,
      at: Date.now(),
    });
    return true;
  }

  edit(payload: Payload): Payload {
    const chatId = chatIdOf(payload);
    const messageId = Number(payload['message_id']);
    const message = this.sent.find((one) => one.chatId === chatId && one.messageId === messageId);
    if (message === undefined) {
      const known = this.#messageIds.get(chatId)?.has(messageId) === true;
      throw new BotApiError(
        400,
        known ? "Bad Request: message can't be edited" : 'Bad Request: message to edit not found',
      );
    }
    const content = contentOf(payload);
    const replyMarkup = markupOf(payload);
    const same =
      content.visibleText === message.visibleText &&
      content.text === message.text &&
      content.parseMode === message.parseMode &&
      JSON.stringify(replyMarkup) === JSON.stringify(message.replyMarkup);
    if (same) {
      throw new BotApiError(
        400,
        'Bad Request: message is not modified: specified new message content and reply markup are exactly the same ' +
          'as a current content and reply markup of the message',
      );
    }
    message.editedFrom = [...(message.editedFrom ?? []), message.visibleText];
    Object.assign(message, content, { replyMarkup, payload });
    return { ...this.#asMessage(message), edit_date: Math.floor(Date.now() / 1000) };
  }

  #asMessage(message: SentMessage): Payload {
    return {
      message_id: message.messageId,
      from: this.bot,
      chat: this.open(message.chatId, {}),
      date: Math.floor(message.at / 1000),
      text: message.visibleText,
      ...(message.threadId === undefined ? {} : { message_thread_id: message.threadId }),
      ...(message.replyMarkup === undefined ? {} : { reply_markup: message.replyMarkup }),
    };
  }
}

export function chatIdOf(payload: Payload): number {
  const id = payload['chat_id'];
  if (id === undefined || id === '') throw new BotApiError(400, 'Bad Request: chat_id is empty');
  const number = Number(id);
  if (!Number.isSafeInteger(number) || number === 0) throw new BotApiError(400, 'Bad Request: chat not found');
  return number;
}

function replyTarget(payload: Payload): { readonly messageId: number; readonly lenient: boolean } | undefined {
  const parameters = payload['reply_parameters'];
  if (typeof parameters !== 'object' || parameters === null || !('message_id' in parameters)) return undefined;
  const lenient = 'allow_sending_without_reply' in parameters && parameters.allow_sending_without_reply === true;
  return { messageId: Number(parameters.message_id), lenient };
}

/** Buttons that the real server would refuse are refused here. */
function markupOf(payload: Payload): unknown {
  const markup = payload['reply_markup'];
  if (!isRecord(markup) || markup['inline_keyboard'] === undefined) return markup;
  const rows: unknown = markup['inline_keyboard'];
  const buttons: readonly unknown[] = Array.isArray(rows) ? rows.flat() : [undefined];
  for (const button of buttons) {
    if (!isRecord(button) || typeof button['text'] !== 'string' || button['text'] === '') {
      throw new BotApiError(400, "Bad Request: can't parse inline keyboard button: Text buttons are unallowed");
    }
    const data = button['callback_data'];
    const bytes = typeof data === 'string' ? Buffer.byteLength(data) : 0;
    if (bytes < 1 || bytes > 64) throw new BotApiError(400, 'Bad Request: BUTTON_DATA_INVALID');
  }
  return markup;
}

function contentOf(payload: Payload): Pick<SentMessage, 'text' | 'parseMode' | 'visibleText'> {
  const { text, parse_mode: parseMode } = payload;
  if (typeof text !== 'string') throw new BotApiError(400, 'Bad Request: message text is empty');
  const visibleText = (parseMode === undefined ? text : visibleHtml(text, parseMode)).trim();
  if (visibleText === '') throw new BotApiError(400, 'Bad Request: message text is empty');
  if (visibleText.length > LONGEST_TEXT) throw new BotApiError(400, 'Bad Request: message is too long');
  return { text, parseMode: parseMode === undefined ? undefined : 'HTML', visibleText };
}

function visibleHtml(text: string, parseMode: unknown): string {
  if (parseMode !== 'HTML') throw new BotApiError(400, 'Bad Request: unsupported parse_mode');
  const parsed = parseTelegramHtml(text);
  if ('problem' in parsed) throw new BotApiError(400, `Bad Request: can't parse entities: ${parsed.problem}`);
  return parsed.visible;
}
