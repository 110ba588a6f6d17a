import { startFakeSlack, type FakeSlack, type SlackFault } from '../support/fake-slack.ts';
import type { SlackPost, StoredFile } from '../support/slack-workspace.ts';
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

const FAULTS = {
  throttled: { status: 429, retryAfter: 1 },
  'server-error': { status: 503 },
  'lost-before': 'reset-before',
  'lost-after': 'reset-after',
  blocked: { error: 'is_archived' },
  hang: 'hang',
  'markup-refused': { error: 'invalid_blocks' },
} as const satisfies Record<Fault, SlackFault>;

export const slackBench: PlatformBench = {
  kind: 'slack',
  lacks: {
    replies: 'an answer to a post is a post in its thread',
    albums: 'files that are sent together are one post',
    stickers: 'there are none',
    places: 'there are none',
    typing: 'bots cannot show it',
    menu: 'an app has one command, from its manifest',
  },
  openBot: (facts) => SlackBench.open(facts),
};

class SlackBench implements BotBench {
  readonly config: Readonly<Record<string, unknown>>;
  readonly #server: FakeSlack;
  readonly #faults: { readonly chatId: string; readonly fault: Fault }[] = [];

  private constructor(server: FakeSlack, { wrongCredentials = false }: BotFacts) {
    this.#server = server;
    this.config = wrongCredentials ? { ...server.config, botToken: 'xoxb-wrong' } : server.config;
    server.setFaultHandler((method, payload) => {
      if (!/^chat\.(?:postMessage|update)$/u.test(method)) return undefined;
      const at = this.#faults.findIndex(({ chatId }) => chatId === payload['channel']);
      const fault = at === -1 ? undefined : this.#faults.splice(at, 1)[0]?.fault;
      return fault === undefined ? undefined : FAULTS[fault];
    });
  }

  static async open(facts: BotFacts): Promise<SlackBench> {
    return new SlackBench(await startFakeSlack(), facts);
  }

  get botName(): string {
    return this.#server.workspace.bot.name;
  }

  connect(): void {}

  person(name: string, { isBot = false }: { readonly isBot?: boolean } = {}): Person {
    const id = this.#server.workspace.newId('U');
    this.#server.workspace.addPerson(id, name, isBot);
    return { id, name, isBot };
  }

  direct(person: Person): Place {
    const chatId = `D${person.id.slice(1)}`;
    this.#server.workspace.open(chatId);
    return { chatId, type: 'direct' };
  }

  group(): Place {
    const chatId = this.#server.workspace.newId('C');
    this.#server.workspace.open(chatId);
    return { chatId, type: 'group' };
  }

  thread(group: Place): Place {
    return { ...group, threadId: this.#server.sends('U0SOMEBODY', group.chatId, 'a thread', { as: 'nothing' }) };
  }

  sends(place: Place, { by, text, mention, forwarded, files = [] }: UserMessage): string {
    const whole = mention === true ? `<@${this.#server.workspace.bot.userId}> ${escaped(text)}` : escaped(text);
    const shared = { attachments: [{ is_share: true, author_name: 'Somebody', text: whole }], text: '' };
    return this.#server.sends(by.id, place.chatId, whole, {
      ...(place.threadId === undefined ? {} : { thread: place.threadId }),
      as: mention === true ? 'both' : 'message',
      files: files.map((file) => this.#store(file)),
      extra: forwarded === true ? shared : {},
    });
  }

  album(): void {}

  edits(place: Place, id: string, _by: Person, text: string): void {
    this.#server.edits(place.chatId, id, escaped(text));
  }

  presses(_place: Place, seen: Seen, label: string, by: Person): void {
    const post = this.#server.sentPosts.find(({ ts }) => ts === seen.id);
    if (post === undefined) throw new Error(`there is no post ${seen.id}`);
    this.#server.presses(by.id, post, label);
  }

  reacts({ chatId }: Place, { id: ts }: Seen, by: Person, emoji: string, { takenBack = false } = {}): void {
    this.#server.reacts(by.id, { chatId, ts }, emoji === '👍' ? '+1::skin-tone-3' : '-1', takenBack);
  }

  marks({ chatId }: Place, id: string): readonly string[] {
    const names = this.#server.workspace.find(chatId, id)?.marks ?? new Set();
    return [...names].map((name) => (name === 'eyes' ? '👀' : name));
  }

  echoes(place: Place, text: string): void {
    const { userId } = this.#server.workspace.bot;
    this.#server.sends(userId, place.chatId, `<@${userId}> ${text}`);
    const echo = this.#server.workspace.posts.at(-1);
    if (echo !== undefined) echo.gone = true;
  }

  repeats(id: string): void {
    const post = this.#server.workspace.posts.find(({ ts }) => ts === id);
    if (post === undefined) throw new Error(`nobody wrote ${id}`);
    const event = { type: 'message', ...this.#server.workspace.content(post), channel: post.chatId };
    this.#server.sockets.bring('events_api', { type: 'event_callback', event });
  }

  seen({ chatId, threadId }: Place): readonly Seen[] {
    return this.#server.sentPosts
      .filter((post) => post.chatId === chatId && post.threadId === threadId)
      .flatMap((post) =>
        filesOf(post).map((file) => ({
          id: post.ts,
          text: post.text,
          raw: post.raw,
          before: post.before,
          replyTo: undefined,
          threadId: post.threadId,
          buttons: post.buttons.map(({ label }) => label),
          file,
        })),
      );
  }

  typed(): number {
    return 0;
  }

  fetched(): number {
    return this.#server.calls.filter(({ method }) => method === 'files.info').length;
  }

  fault({ chatId }: Place, fault: Fault, times = 1): void {
    for (let count = 0; count < times; count += 1) this.#faults.push({ chatId, fault });
  }

  cut(): void {
    this.#server.cutAll();
  }

  menu(): readonly string[] {
    return [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  #store({ kind, name, bytes, claimedSize }: OfferedFile): StoredFile {
    const type = kind === 'image' ? 'image/png' : kind === 'voice' ? 'audio/ogg' : 'text/plain';
    const file = this.#server.addFile(name, type, bytes, claimedSize === undefined ? {} : { size: claimedSize });
    return file;
  }
}

/** As Slack writes it. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The files of a post; one undefined for a post without any. */
function filesOf({ files }: SlackPost): readonly Seen['file'][] {
  if (files.length === 0) return [undefined];
  return files.map(({ mimetype, name, bytes }) => ({ kind: mimetype, name, bytes }));
}
