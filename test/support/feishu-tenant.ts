type Content = Readonly<Record<string, unknown>>;

export interface FeishuChat {
  readonly id: string;
  readonly mode: 'p2p' | 'group';
}

export interface FeishuMessage {
  readonly id: string;
  readonly chatId: string;
  /** The thread it stands in. */
  readonly threadId: string | undefined;
  readonly rootId: string | undefined;
  readonly parentId: string | undefined;
  /** An `open_id`, or the id of the app. */
  readonly sender: string;
  type: string;
  content: Content;
  /** What it was before each edit. */
  readonly before: Content[];
  readonly at: number;
  readonly mentions: readonly Content[];
  /** Messages that were forwarded in it. */
  readonly inner: readonly FeishuMessage[];
}

export interface FeishuFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** What the server says of its size. */
  readonly size: number;
}

/** What a call may not do, with the number that Feishu gives it. */
export class FeishuRefusal extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** Ids are the platform's, not a company's. */
let count = 0;

/** People, chats and messages of one company with one app. */
export class FeishuTenant {
  readonly app = { id: '', openId: 'ou_bot0000000000000000000000000000', name: 'testbot' };
  readonly people = new Map<string, string>();
  readonly chats = new Map<string, FeishuChat>();
  readonly messages: FeishuMessage[] = [];
  readonly files = new Map<string, FeishuFile>();
  readonly reactions: { readonly id: string; readonly messageId: string; readonly emoji: string; isGone: boolean }[] =
    [];
  readonly #byUuid = new Map<string, FeishuMessage>();

  constructor(appId: string) {
    this.app.id = appId;
  }

  newId(prefix: string): string {
    count += 1;
    return `${prefix}_${count.toString(16).padStart(32, '0')}`;
  }

  addFile(prefix: 'img' | 'file', name: string, bytes: Uint8Array, size = bytes.byteLength): string {
    const key = this.newId(prefix);
    this.files.set(key, { name, bytes, size });
    return key;
  }

  message(id: string): FeishuMessage {
    const found = this.messages.find((one) => one.id === id);
    if (found === undefined) throw new FeishuRefusal(230_110, 'The message is deleted.');
    return found;
  }

  write(facts: Pick<FeishuMessage, 'chatId' | 'sender' | 'type' | 'content'> & Partial<FeishuMessage>): FeishuMessage {
    const message: FeishuMessage = {
      id: this.newId('om'),
      threadId: undefined,
      rootId: undefined,
      parentId: undefined,
      before: [],
      at: Date.now(),
      mentions: [],
      inner: [],
      ...facts,
    };
    this.messages.push(message);
    return message;
  }

  /** The app writes. With a `uuid` that was there in the last hour it is the message of then. */
  send(chatId: string, body: Content, parent?: FeishuMessage): FeishuMessage {
    const { msg_type: type, content, uuid, reply_in_thread: inThread } = body;
    if (!this.chats.has(chatId)) throw new FeishuRefusal(230_002, 'The bot can not be outside the group.');
    const known = typeof uuid === 'string' && uuid !== '' ? this.#byUuid.get(uuid) : undefined;
    if (known !== undefined) return known;
    if (typeof uuid === 'string' && uuid.length > 50) throw new FeishuRefusal(99_992_402, 'field validation failed');
    const threadId = parent?.threadId ?? (inThread === true ? this.newId('omt') : undefined);
    const read = readContent(String(type), content);
    const message = this.write({
      chatId,
      sender: this.app.id,
      type: String(type),
      content: read,
      threadId,
      parentId: parent?.id,
      rootId: parent === undefined ? undefined : (parent.rootId ?? parent.id),
    });
    if (typeof uuid === 'string') this.#byUuid.set(uuid, message);
    return message;
  }

  edit(id: string, type: 'card' | 'text', content: unknown): FeishuMessage {
    const message = this.message(id);
    if (message.sender !== this.app.id) throw new FeishuRefusal(230_012, 'Bot is NOT the sender of the message.');
    const isCard = message.type === 'interactive';
    if (isCard !== (type === 'card')) throw new FeishuRefusal(230_001, 'This message is not of that type.');
    message.before.push(message.content);
    message.content = readContent(message.type, content);
    return message;
  }
}

/** The content of a message as the app gave it. Throws what Feishu says when it is not what it should be. */
function readContent(type: string, content: unknown): Content {
  if (typeof content !== 'string')
    throw new FeishuRefusal(230_001, 'Your request contains an invalid request parameter.');
  const most = type === 'text' ? 150 * 1024 : 30 * 1024;
  if (Buffer.byteLength(content) > most)
    throw new FeishuRefusal(230_025, 'The length of the message content reaches its limit.');
  const read = JSON.parse(content) as Content;
  const elements = (read['body'] as Content | undefined)?.['elements'];
  if (type === 'interactive' && (read['schema'] !== '2.0' || !Array.isArray(elements) || elements.length === 0))
    throw new FeishuRefusal(230_099, 'Failed to create card content, ext=ErrCode: 11310; ErrMsg: element is empty');
  const isWhole = type === 'text' ? typeof read['text'] === 'string' && read['text'] !== '' : true;
  if (!isWhole) throw new FeishuRefusal(230_001, 'The content of the message is empty.');
  return read;
}
