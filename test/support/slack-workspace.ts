import { isRecord } from './validate.ts';
import { readSlack } from './slack-markdown.ts';

type Content = Readonly<Record<string, unknown>>;

/** A post as it stands now. */
export interface SlackPost {
  readonly chatId: string;
  readonly ts: string;
  readonly threadId: string | undefined;
  readonly user: string;
  readonly isBots: boolean;
  /** What people read. */
  text: string;
  /** As it was sent: Slack's markup or the Markdown of a block. */
  raw: string;
  /** What people read before each edit, oldest first. */
  before: readonly string[];
  buttons: readonly { readonly label: string; readonly value: string }[];
  metadata: unknown;
  readonly files: readonly StoredFile[];
  /** Names of the bot's own reactions on it. */
  readonly marks: Set<string>;
  /** Only they see it. */
  readonly onlyFor?: string;
  gone?: boolean;
  /** Put over what is given of it. */
  readonly kept?: Content;
  /** The latest call's parameters. */
  payload: Content;
}

export interface StoredFile {
  readonly id: string;
  readonly name: string;
  readonly mimetype: string;
  /** What Slack says it has. */
  readonly size: number;
  readonly bytes: Uint8Array;
  readonly extra: Content;
}

/** A refusal with Slack's own word. */
export class SlackError extends Error {
  readonly facts: Content;

  constructor(error: string, facts: Content = {}) {
    super(error);
    this.facts = facts;
  }
}

/** Ids are unique in this process, whatever workspace they are of. */
let lastId = 0;

/** The conversations, people and files of one workspace. */
export class SlackWorkspace {
  readonly bot: { readonly userId: string; readonly botId: string; readonly name: string };
  readonly posts: SlackPost[] = [];
  readonly files = new Map<string, StoredFile>();
  readonly #people = new Map<string, { readonly name: string; readonly isBot: boolean }>();
  readonly #conversations = new Set<string>();
  /** Those that the bot is not in. */
  readonly foreign = new Set<string>();
  /** How far its clock is ahead of this machine's. */
  aheadMs = 0;
  #lastTime = 0;

  constructor(bot: SlackWorkspace['bot']) {
    this.bot = bot;
    this.#people.set(bot.userId, { name: bot.name, isBot: true });
  }

  newId(letter: string): string {
    lastId += 1;
    return `${letter}0T${String(lastId).padStart(6, '0')}`;
  }

  /** A time that no post has: seconds with six digits. */
  newTime(): string {
    this.#lastTime = Math.max(this.#lastTime + 1, (Date.now() + this.aheadMs) * 1_000);
    const digits = String(this.#lastTime);
    return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
  }

  addPerson(id: string, name: string, isBot = false): void {
    this.#people.set(id, { name, isBot });
  }

  personNamed(id: string): { readonly name: string; readonly isBot: boolean } | undefined {
    return this.#people.get(id);
  }

  open(chatId: string): void {
    this.#conversations.add(chatId);
  }

  get conversations(): readonly string[] {
    return [...this.#conversations].filter((id) => !this.foreign.has(id));
  }

  find(chatId: string, ts: string): SlackPost | undefined {
    return this.posts.find((post) => post.chatId === chatId && post.ts === ts);
  }

  add(post: Omit<SlackPost, 'ts' | 'before' | 'marks'>): SlackPost {
    this.open(post.chatId);
    const added: SlackPost = { ...post, ts: this.newTime(), before: [], marks: new Set() };
    this.posts.push(added);
    return added;
  }

  /** `chat.postMessage`, or `chat.postEphemeral` for one person. */
  send(payload: Content, onlyFor?: string): SlackPost {
    const chatId = this.#chatOf(payload);
    const threadId = payload['thread_ts'];
    return this.add({
      chatId,
      threadId: typeof threadId === 'string' ? threadId : undefined,
      user: this.bot.userId,
      isBots: true,
      ...lookOf(payload),
      metadata: payload['metadata'],
      files: [],
      payload,
      ...(onlyFor === undefined ? {} : { onlyFor }),
    });
  }

  update(payload: Content): SlackPost {
    const post = this.find(this.#chatOf(payload), String(payload['ts']));
    if (post === undefined || post.onlyFor !== undefined) throw new SlackError('message_not_found');
    if (!post.isBots) throw new SlackError('cant_update_message');
    const before = [...post.before, post.text];
    const metadata = payload['metadata'] ?? post.metadata;
    return Object.assign(post, lookOf(payload), { before, metadata, payload });
  }

  /** As `conversations.history` and `replies` give it. */
  asMessage(post: SlackPost, withMetadata: boolean): Content {
    const replies = this.posts.filter(({ chatId, threadId }) => chatId === post.chatId && threadId === post.ts);
    const latest = replies.at(-1)?.ts;
    return {
      type: 'message',
      ...this.content(post),
      ...(latest === undefined ? {} : { thread_ts: post.ts, reply_count: replies.length, latest_reply: latest }),
      ...(withMetadata && post.metadata !== undefined ? { metadata: post.metadata } : {}),
    };
  }

  /** As an event has it, without its place. */
  content(post: SlackPost): Content {
    const { user, isBots, raw, ts, threadId, files } = post;
    const parent = threadId === undefined ? undefined : this.find(post.chatId, threadId);
    const bot = isBots ? this.bot.botId : this.#people.get(user)?.isBot === true ? `B${user.slice(1)}` : undefined;
    return {
      user,
      text: raw,
      ts,
      ...(bot === undefined ? {} : { bot_id: bot }),
      ...(threadId === undefined ? {} : { thread_ts: threadId }),
      ...(parent === undefined ? {} : { parent_user_id: parent.user }),
      ...(files.length === 0 ? {} : { files: files.map((file) => ({ ...describe(file) })) }),
      ...post.kept,
    };
  }

  #chatOf(payload: Content): string {
    const chatId = payload['channel'];
    if (typeof chatId !== 'string' || !/^[CDGUW][A-Z0-9]+$/u.test(chatId)) throw new SlackError('channel_not_found');
    if (this.foreign.has(chatId)) throw new SlackError('not_in_channel');
    return chatId;
  }
}

export function describe({ id, name, mimetype, size, extra }: StoredFile): Content {
  return { id, name, title: name, mimetype, size, mode: 'hosted', ...extra };
}

/** What people see of a message, and its buttons; what Slack would refuse is refused. */
function lookOf(payload: Content): Pick<SlackPost, 'text' | 'raw' | 'buttons'> {
  const blocks: readonly unknown[] = Array.isArray(payload['blocks']) ? payload['blocks'] : [];
  const text = typeof payload['text'] === 'string' ? payload['text'] : '';
  if (blocks.length === 0 && text === '') throw new SlackError('no_text');
  if (blocks.length > 50) throw new SlackError('invalid_blocks');
  let shown: string | undefined;
  let raw = text;
  const buttons: { label: string; value: string }[] = [];
  for (const block of blocks.filter(isRecord)) {
    if (block['type'] === 'markdown') {
      const markdown = String(block['text']);
      const { visible, problems } = readSlack(markdown);
      if (problems.length > 0) throw new SlackError('invalid_blocks', { problems });
      shown = visible.replaceAll('\u200b', '').trim();
      raw = markdown;
    }
    if (block['type'] === 'section' && isRecord(block['text'])) shown = String(block['text']['text']);
    const elements: readonly unknown[] = Array.isArray(block['elements']) ? block['elements'] : [];
    for (const element of elements.filter(isRecord)) {
      const label = isRecord(element['text']) ? String(element['text']['text']) : '';
      buttons.push({ label, value: String(element['value']) });
    }
  }
  const plain = text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
  return { text: shown ?? plain, raw, buttons };
}
