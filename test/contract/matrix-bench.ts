import { FakeMatrix, shownText, textIn, type MatrixFault } from '../support/fake-matrix.ts';
import { openRoom } from '../support/matrix-world.ts';
import { MATRIX } from '../support/plugin-package.ts';
import { replaced, type MatrixContent, type MatrixEvent } from '../support/matrix-rooms.ts';
import type {
  BotBench,
  BotFacts,
  Fault,
  OfferedFile,
  Person,
  Place,
  PlatformBench,
  Seen,
  UserMessage,
} from './bench.ts';

const FAULTS = {
  throttled: { status: 429, errcode: 'M_LIMIT_EXCEEDED', retryAfterMs: 1_000 },
  'server-error': { status: 500, errcode: 'M_UNKNOWN' },
  'lost-before': 'reset-before',
  'lost-after': 'reset-after',
  blocked: { status: 403, errcode: 'M_FORBIDDEN' },
  hang: 'hang',
  'markup-refused': { status: 400, errcode: 'M_BAD_JSON' },
} as const satisfies Record<Fault, MatrixFault>;

export const matrixBench: PlatformBench = {
  kind: 'matrix',
  plugin: MATRIX,
  lacks: {
    reactions: 'they are not read and not set',
    forwards: 'what is passed on is a message like any other',
    buttons: 'messages have none',
    albums: 'files that are sent together are messages of their own',
    'refused markup': 'the homeserver does not read it',
    menu: 'rooms show none',
  },
  openBot: async (facts) => new MatrixBench(await FakeMatrix.start(), facts),
};

class MatrixBench implements BotBench {
  readonly config: Readonly<Record<string, unknown>>;
  readonly botName: string;
  readonly #server: FakeMatrix;
  readonly #direct = new Map<string, string>();
  readonly #faults: { readonly chatId: string; readonly fault: Fault }[] = [];

  constructor(server: FakeMatrix, { wrongCredentials = false }: BotFacts) {
    this.#server = server;
    this.botName = server.botName;
    this.config = wrongCredentials ? { ...server.config, accessToken: 'syt_wrong' } : server.config;
    server.setFaultHandler(({ route }) => {
      if (!/^PUT \/rooms\/[^/]+\/send\/m\.room\.message\//u.test(route)) return undefined;
      const at = this.#faults.findIndex(({ chatId }) => route.includes(`/${chatId}/`));
      const fault = at === -1 ? undefined : this.#faults.splice(at, 1)[0]?.fault;
      return fault === undefined ? undefined : FAULTS[fault];
    });
  }

  connect(): void {}

  person(name: string, { isBot = false }: { readonly isBot?: boolean } = {}): Person {
    return { id: this.#server.rooms.newId('@'), name, isBot };
  }

  direct({ id, name }: Person): Place {
    const chatId = this.#direct.get(id) ?? this.#open([{ id, name }]);
    this.#direct.set(id, chatId);
    return { chatId, type: 'direct' };
  }

  group(): Place {
    const others = ['Ada', 'Ben'].map((name) => ({ id: this.#server.rooms.newId('@'), name }));
    return { chatId: this.#open(others), type: 'group' };
  }

  thread(group: Place): Place {
    const content = { msgtype: 'm.text', body: 'a thread begins' };
    const root = this.#server.rooms.add(group.chatId, { type: 'm.room.topic', sender: '@ada:test', content });
    return { ...group, threadId: root.event_id };
  }

  sends(place: Place, message: UserMessage): string {
    const { by, files = [] } = message;
    if (!this.#server.rooms.has(place.chatId, by.id))
      this.#server.rooms.member(place.chatId, by.id, 'join', { name: by.name });
    const type = message.special !== undefined && 'sticker' in message.special ? 'm.sticker' : 'm.room.message';
    const content = { ...this.#words(message), ...this.#file(message.text, files[0]), ...relationOf(place, message) };
    return this.#server.rooms.add(place.chatId, { type, sender: by.id, content }).event_id;
  }

  album(): void {}

  edits(place: Place, id: string, by: Person, text: string): void {
    const content = {
      msgtype: 'm.text',
      body: `* ${text}`,
      'm.new_content': { msgtype: 'm.text', body: text },
      'm.relates_to': { rel_type: 'm.replace', event_id: id },
    };
    this.#server.rooms.add(place.chatId, { type: 'm.room.message', sender: by.id, content });
  }

  presses(): void {}

  echoes(place: Place, text: string): void {
    const content = { msgtype: 'm.text', body: `${this.botName}: ${text}` };
    this.#server.rooms.add(place.chatId, { type: 'm.room.message', sender: this.#server.bot, content });
  }

  repeats(id: string): void {
    const rooms = [...this.#direct.values()].flatMap((room) => this.#server.rooms.event(room, id) ?? []);
    const [event] = rooms;
    if (event === undefined) throw new Error(`nobody wrote ${id}`);
    this.#server.rooms.repeat(event);
  }

  seen({ chatId, threadId }: Place): readonly Seen[] {
    const { rooms, bot } = this.#server;
    const written = (rooms.room(chatId)?.events ?? [])
      .map(({ event }) => event)
      .filter((event) => event.sender === bot && event.type === 'm.room.message' && replaced(event) === undefined)
      .filter(({ content }) => content['m.mentions'] !== undefined || content['url'] !== undefined);
    return written
      .filter((event) => threadOf(event) === threadId)
      .map((event) => {
        const edits = rooms.edits(chatId, event.event_id).map(({ content }) => ({ content: contentIn(content) }));
        const versions = [event, ...edits];
        const now = versions.at(-1) ?? event;
        const bytes = this.#server.file(event.content['url']);
        const name = String(event.content['filename']);
        return {
          id: event.event_id,
          text: bytes === undefined ? shownText(now) : '',
          raw: textIn(now.content, 'formatted_body'),
          before: versions.slice(0, -1).map(shownText),
          replyTo: undefined,
          threadId,
          buttons: [],
          file: bytes === undefined ? undefined : { kind: String(event.content['msgtype']), name, bytes },
        };
      });
  }

  typed({ chatId }: Place): number {
    return this.#server.calls.filter(({ route }) => route.startsWith(`PUT /rooms/${chatId}/typing/`)).length;
  }

  fetched(): number {
    return this.#server.calls.filter(({ route }) => route.startsWith('GET /media/download/')).length;
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

  #open(people: readonly { readonly id: string; readonly name: string }[]): string {
    return openRoom(this.#server, people);
  }

  #words({ by, text, mention, special }: UserMessage): MatrixContent {
    const msgtype = by.isBot ? 'm.notice' : 'm.text';
    if (special !== undefined && 'sticker' in special) return { body: special.sticker, url: 'mxc://test/sticker' };
    if (special !== undefined)
      return { msgtype: 'm.location', body: 'somewhere', geo_uri: `geo:${special.location.join(',')};u=35` };
    if (mention !== true) return { msgtype, body: text, 'm.mentions': {} };
    const pill = `<a href="https://matrix.to/#/${this.#server.bot}">${this.botName}</a>`;
    return {
      msgtype,
      body: `${this.botName}: ${text}`,
      'm.mentions': { user_ids: [this.#server.bot] },
      format: 'org.matrix.custom.html',
      formatted_body: `${pill}: ${text}`,
    };
  }

  #file(text: string, file: OfferedFile | undefined): MatrixContent {
    if (file === undefined) return {};
    const [msgtype, mimetype] = {
      image: ['m.image', 'image/png'],
      voice: ['m.audio', 'audio/ogg'],
      document: ['m.file', 'text/plain'],
    }[file.kind];
    const url = this.#server.addFile(file.bytes, mimetype ?? '');
    const size = file.claimedSize ?? file.bytes.byteLength;
    return { msgtype, url, filename: file.name, body: text === '' ? file.name : text, info: { mimetype, size } };
  }
}

function relationOf({ threadId }: Place, { replyTo }: UserMessage): MatrixContent {
  if (threadId === undefined && replyTo === undefined) return {};
  const thread = { rel_type: 'm.thread', event_id: threadId, is_falling_back: replyTo === undefined };
  const answer = { 'm.in_reply_to': { event_id: replyTo ?? threadId } };
  return { 'm.relates_to': threadId === undefined ? answer : { ...thread, ...answer } };
}

function threadOf({ content }: MatrixEvent): string | undefined {
  const { rel_type: type, event_id: id } = Object(content['m.relates_to']);
  return type === 'm.thread' ? String(id) : undefined;
}

function contentIn(content: MatrixContent): MatrixContent {
  return Object(content['m.new_content']);
}
