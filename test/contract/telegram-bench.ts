import { startFakeTelegram, type FakeTelegram } from '../support/fake-telegram.ts';
import type { TelegramFault } from '../support/telegram-faults.ts';
import { isRecord } from '../support/validate.ts';
import type {
  BotBench,
  BotFacts,
  Fault,
  OfferedFile,
  Person,
  Place,
  PlatformBench,
  UserMessage,
  Seen,
} from './bench.ts';

type Content = Readonly<Record<string, unknown>>;

const FAULTS = {
  throttled: { status: 429, retryAfter: 1 },
  'server-error': { status: 500 },
  'lost-before': 'reset-before',
  'lost-after': 'reset-after',
  blocked: { status: 403 },
  hang: 'hang',
  'markup-refused': { status: 400, description: "Bad Request: can't parse entities: unsupported start tag" },
} as const satisfies Record<Fault, TelegramFault>;

export const telegramBench: PlatformBench = {
  kind: 'telegram',
  lacks: {},
  openBot: (facts) => TelegramBench.open(facts),
};

/** Ids of people, groups and topics, unique in this process. */
let lastId = 5_000;
const newId = (): number => (lastId += 1);

class TelegramBench implements BotBench {
  readonly botName = 'test_bot';
  readonly config: Content;
  readonly #server: FakeTelegram;
  readonly #people = new Map<string, Content>();
  /** What people wrote, by its id. */
  readonly #said = new Map<string, { readonly updateId: number; readonly message: Content }>();
  readonly #faults: { readonly chatId: string; readonly fault: Fault }[] = [];

  private constructor(server: FakeTelegram, { wrongCredentials = false }: BotFacts) {
    this.#server = server;
    this.config = { token: wrongCredentials ? '999999:WRONG-token' : server.token, apiRoot: server.apiRoot };
    server.setFaultHandler(({ method, payload }) => {
      if (!/^(?:send(?!ChatAction|MessageDraft)|edit)/u.test(method)) return undefined;
      const at = this.#faults.findIndex(({ chatId }) => chatId === String(payload['chat_id']));
      const fault = at === -1 ? undefined : this.#faults.splice(at, 1)[0]?.fault;
      return fault === undefined ? undefined : FAULTS[fault];
    });
  }

  static async open(facts: BotFacts): Promise<TelegramBench> {
    return new TelegramBench(await startFakeTelegram(), facts);
  }

  connect(): void {}

  person(name: string, { isBot = false }: { readonly isBot?: boolean } = {}): Person {
    return { id: String(newId()), name, isBot };
  }

  direct(person: Person): Place {
    return { chatId: person.id, type: 'direct' };
  }

  group(): Place {
    return { chatId: String(-newId()), type: 'group' };
  }

  thread(group: Place): Place {
    return { ...group, threadId: String(newId()) };
  }

  sends(place: Place, userMessage: UserMessage): string {
    const { updateId, messageId } = this.#server.userSays(Number(place.chatId), '', {
      text: undefined,
      ...this.#contentOf(place, userMessage),
    });
    return this.#remember(place, userMessage, updateId, messageId);
  }

  album(place: Place, by: Person, files: readonly OfferedFile[], caption: string): void {
    for (const [n, file] of files.entries()) {
      const content = this.#contentOf(place, { by, text: n === 0 ? caption : '', files: [file] });
      this.#server.userSays(Number(place.chatId), '', { text: undefined, ...content, media_group_id: place.chatId });
    }
  }

  edits(place: Place, id: string, by: Person, text: string): void {
    this.#server.userEdits(Number(place.chatId), Number(id), text, { from: this.#userOf(by), ...threadOf(place) });
  }

  presses(place: Place, seen: Seen, label: string, by: Person): void {
    const message = this.#server.sentMessages.find(({ messageId }) => String(messageId) === seen.id);
    const data = buttonsOf(message?.replyMarkup).find(({ text }) => text === label)?.data;
    if (data === undefined) throw new Error(`there is no button ${label}`);
    this.#server.userPresses(Number(place.chatId), Number(seen.id), data, this.#userOf(by));
  }

  reacts(place: Place, seen: Seen, by: Person, emoji: string, { takenBack = false } = {}): void {
    const change = takenBack ? { before: [emoji], after: [] } : { after: [emoji] };
    this.#server.userReacts(Number(place.chatId), Number(seen.id), change, this.#userOf(by));
  }

  marks({ chatId }: Place, id: string): readonly string[] {
    const mark = this.#server.reactionOn(Number(chatId), Number(id));
    return mark === '' ? [] : [mark];
  }

  echoes(place: Place, text: string): void {
    const { id, username } = this.#server.bot;
    const from = { id, username, is_bot: true, first_name: 'Test Bot' };
    this.#server.userSays(Number(place.chatId), `@${username} ${text}`, { from, ...mentionOf(username) });
  }

  repeats(id: string): void {
    const said = this.#said.get(id);
    if (said === undefined) throw new Error(`nobody wrote ${id}`);
    this.#server.duplicateUpdate(said.updateId, { asNew: true });
  }

  seen({ chatId, threadId }: Place): readonly Seen[] {
    return this.#server.sentMessages
      .filter((sent) => String(sent.chatId) === chatId && idOf(sent.threadId) === threadId)
      .map((sent) => ({
        id: String(sent.messageId),
        text: sent.visibleText,
        raw: sent.text,
        before: sent.editedFrom ?? [],
        replyTo: idOf(sent.replyTo),
        threadId: idOf(sent.threadId),
        buttons: buttonsOf(sent.replyMarkup).map(({ text }) => text),
        file: sent.file,
      }));
  }

  typed({ chatId, threadId }: Place): number {
    return this.#server.calls.filter(({ method, payload }) => {
      const there = String(payload['chat_id']) === chatId && idOf(payload['message_thread_id']) === threadId;
      return method === 'sendChatAction' && there;
    }).length;
  }

  fetched(): number {
    return this.#server.calls.filter(({ method }) => method === 'getFile').length;
  }

  fault({ chatId }: Place, fault: Fault, times = 1): void {
    for (let count = 0; count < times; count += 1) this.#faults.push({ chatId, fault });
  }

  cut(): void {
    this.#server.cutAll();
  }

  menu(): readonly string[] {
    const call = this.#server.calls.find(({ method, payload }) => method === 'setMyCommands' && !('scope' in payload));
    const commands: readonly unknown[] = Array.isArray(call?.payload['commands']) ? call.payload['commands'] : [];
    return commands.map((one) => (isRecord(one) ? String(one['command']) : ''));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
  }

  #contentOf(
    place: Place,
    { by, text, mention, replyTo, quote, forwarded, files = [], special }: UserMessage,
  ): Content {
    const name = `@${this.botName}`;
    const whole = mention === true ? `${name} ${text}` : text;
    const isCaption = files.length > 0 || special !== undefined;
    const entities = mention === true ? mentionOf(this.botName, isCaption) : {};
    return {
      ...(whole === '' ? {} : { [isCaption ? 'caption' : 'text']: whole }),
      ...entities,
      ...Object.assign({}, ...files.map((file) => this.#fileOf(file))),
      ...specialOf(special),
      ...threadOf(place),
      ...(replyTo === undefined ? {} : { reply_to_message: this.#messageOf(place, replyTo) }),
      ...(quote === undefined ? {} : { quote: { text: quote, position: 0 } }),
      ...(forwarded === true ? { forward_origin: { type: 'hidden_user', sender_user_name: 'Somebody', date: 1 } } : {}),
      from: this.#userOf(by),
    };
  }

  #remember(place: Place, userMessage: UserMessage, updateId: number, messageId: number): string {
    const id = String(messageId);
    const chat = { id: Number(place.chatId), type: place.type === 'direct' ? 'private' : 'supergroup' };
    const from = this.#userOf(userMessage.by);
    const message = { message_id: messageId, date: 1, chat, from, text: userMessage.text };
    this.#said.set(id, { updateId, message });
    return id;
  }

  /** A message of a person's or of the bot's, as it stands in an answer to it. */
  #messageOf(place: Place, id: string): Content {
    const said = this.#said.get(id);
    if (said !== undefined) return said.message;
    const sent = this.#server.sentMessages.find(({ messageId }) => String(messageId) === id);
    const { id: bot, username } = this.#server.bot;
    const from = { id: bot, username, is_bot: true, first_name: 'Test Bot' };
    const chat = { id: Number(place.chatId), type: place.type === 'direct' ? 'private' : 'supergroup' };
    return { message_id: Number(id), date: 1, chat, from, text: sent?.visibleText };
  }

  #userOf({ id, name, isBot }: Person): Content {
    const user = this.#people.get(id) ?? { id: Number(id), is_bot: isBot, first_name: name };
    this.#people.set(id, user);
    return user;
  }

  #fileOf({ kind, name, bytes, claimedSize }: OfferedFile): Content {
    const id = `file${newId()}`;
    this.#server.addFile(id, bytes, `${kind}/${id}`);
    const file = { file_id: id, file_unique_id: `u${id}`, file_size: claimedSize ?? bytes.byteLength };
    if (kind === 'image') return { photo: [{ ...file, width: 1, height: 1 }] };
    if (kind === 'voice') return { voice: { ...file, duration: 1, mime_type: 'audio/ogg' } };
    return { document: { ...file, file_name: name, mime_type: 'text/plain' } };
  }
}

function mentionOf(name: string, isCaption = false): Content {
  return {
    [isCaption ? 'caption_entities' : 'entities']: [{ type: 'mention', offset: 0, length: name.length + 1 }],
  };
}

function specialOf(special: UserMessage['special']): Content {
  if (special === undefined) return {};
  if ('sticker' in special) return { sticker: { emoji: special.sticker } };
  const [latitude, longitude] = special.location;
  return { location: { latitude, longitude } };
}

function threadOf({ threadId }: Place): Content {
  return threadId === undefined ? {} : { message_thread_id: Number(threadId), is_topic_message: true };
}

function idOf(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : undefined;
}

function buttonsOf(markup: unknown): readonly { readonly text: string; readonly data: string }[] {
  const rows: unknown = isRecord(markup) ? markup['inline_keyboard'] : [];
  const buttons: readonly unknown[] = Array.isArray(rows) ? rows.flat() : [];
  return buttons.filter(isRecord).map((button) => ({
    text: String(button['text']),
    data: String(button['callback_data']),
  }));
}
