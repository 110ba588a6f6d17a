import { buttonsOf, startFakeFeishu, type FakeFeishu, type FeishuFault } from '../support/fake-feishu.ts';
import { cardText, markdownOf } from '../support/feishu-card.ts';
import { FEISHU } from '../support/plugin-package.ts';
import type { FeishuMessage } from '../support/feishu-tenant.ts';
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
  throttled: { status: 429, code: 99_991_400, resetAfter: 1 },
  'server-error': { status: 503 },
  'lost-before': 'reset-before',
  'lost-after': 'reset-after',
  blocked: { code: 230_002 },
  hang: 'hang',
  'markup-refused': { code: 230_099 },
} as const satisfies Record<Fault, FeishuFault>;

export const feishuBench: PlatformBench = {
  kind: 'feishu',
  plugin: FEISHU,
  lacks: {
    reactions: 'they are not read, and one shows typing',
    bots: 'an app gets what people write, not what other apps write',
    edits: 'an app is not told that somebody edited a message',
    stickers: 'a sticker has a picture and no words',
    menu: 'the menu is made in the developer console, not by the app',
  },
  openBot: (facts) => FeishuBench.open(facts),
};

class FeishuBench implements BotBench {
  readonly config: Readonly<Record<string, unknown>>;
  readonly #server: FakeFeishu;
  readonly #faults: { readonly chatId: string; readonly fault: Fault }[] = [];

  private constructor(server: FakeFeishu, { wrongCredentials = false }: BotFacts) {
    this.#server = server;
    this.config = wrongCredentials ? { ...server.config, appSecret: 'wrong' } : server.config;
    server.setFaultHandler(({ route, chatId }) => {
      if (!/^(?:POST|PATCH|PUT) \/im\/v1\/messages(?:\/:(?:\/reply)?)?$/u.test(route)) return undefined;
      const at = this.#faults.findIndex((entry) => entry.chatId === chatId);
      const fault = at === -1 ? undefined : this.#faults.splice(at, 1)[0]?.fault;
      return fault === undefined ? undefined : FAULTS[fault];
    });
  }

  static async open(facts: BotFacts): Promise<FeishuBench> {
    return new FeishuBench(await startFakeFeishu(), facts);
  }

  get botName(): string {
    return this.#server.tenant.app.name;
  }

  connect(): void {}

  person(name: string, { isBot = false }: { readonly isBot?: boolean } = {}): Person {
    const id = this.#server.tenant.newId('ou');
    this.#server.tenant.people.set(id, name);
    return { id, name, isBot };
  }

  direct(person: Person): Place {
    const chatId = `oc_${person.id.slice(3)}`;
    this.#server.tenant.chats.set(chatId, { id: chatId, mode: 'p2p' });
    return { chatId, type: 'direct' };
  }

  group(): Place {
    const chatId = this.#server.tenant.newId('oc');
    this.#server.tenant.chats.set(chatId, { id: chatId, mode: 'group' });
    return { chatId, type: 'group' };
  }

  thread(group: Place): Place {
    const { tenant } = this.#server;
    const begun = { chatId: group.chatId, sender: tenant.newId('ou'), threadId: tenant.newId('omt') };
    return { ...group, threadId: tenant.write({ ...begun, type: 'text', content: { text: 'a thread' } }).id };
  }

  sends(place: Place, { by, text, mention, replyTo, forwarded, files = [], special }: UserMessage): string {
    const at = { tag: 'at', user_id: '@_user_1', user_name: this.botName };
    const words = mention === true ? `@_user_1 ${text}` : text;
    const send = (type: string, content: Content, more: Partial<FeishuMessage> = {}): string =>
      this.#send(place, { sender: by.id, type, content, replyTo, mention, ...more });
    if (forwarded === true) {
      const { tenant } = this.#server;
      const inner = tenant.write({ chatId: 'oc_elsewhere', sender: 'ou_somebody', type: 'text', content: { text } });
      return send('merge_forward', {}, { inner: [inner] });
    }
    if (special !== undefined && 'location' in special) {
      const [latitude, longitude] = special.location;
      return send('location', { latitude: String(latitude), longitude: String(longitude) });
    }
    const pictures = files.filter(({ kind }) => kind === 'image');
    // A message is a file or has words; only pictures may stand between words.
    const others = files.filter((file) => !pictures.includes(file)).map((file) => send(...this.#fileMessage(file)));
    if (pictures.length === 0) return text === '' ? (others[0] ?? '') : send('text', { text: words });
    const images = pictures.map((file) => [{ tag: 'img', image_key: this.#store(file) }]);
    const said = [...(mention === true ? [at] : []), { tag: 'text', text }];
    return send('post', { title: '', content: [said, ...images] });
  }

  album(place: Place, by: Person, files: readonly OfferedFile[], caption: string): void {
    this.sends(place, { by, text: caption, files });
  }

  edits(): void {}

  presses(_place: Place, seen: Seen, label: string, by: Person): void {
    this.#server.presses(by.id, this.#server.tenant.message(seen.id), label);
  }

  echoes(): void {}

  repeats(id: string): void {
    this.#server.bring(this.#server.tenant.message(id));
  }

  seen({ chatId, threadId }: Place): readonly Seen[] {
    const { tenant } = this.#server;
    const thread = threadId === undefined ? undefined : tenant.message(threadId).threadId;
    return tenant.messages
      .filter((one) => one.sender === tenant.app.id && one.chatId === chatId && one.threadId === thread)
      .map((one) => ({
        id: one.id,
        text: textOf(one.content),
        raw: markdownOf(one.content).join('\n'),
        before: one.before.map(textOf),
        replyTo: one.parentId,
        threadId,
        buttons: buttonsOf(one.content).map(({ label }) => label),
        file: this.#fileOf(one),
      }));
  }

  typed({ chatId }: Place): number {
    const { tenant } = this.#server;
    return tenant.reactions.filter(
      ({ messageId, emoji }) => emoji === 'Typing' && tenant.message(messageId).chatId === chatId,
    ).length;
  }

  fetched(): number {
    return this.#server.calls.filter(({ route }) => route.includes('/resources/')).length;
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

  #send(
    { chatId, threadId }: Place,
    message: Pick<FeishuMessage, 'sender' | 'type' | 'content'> &
      Partial<FeishuMessage> & { readonly replyTo: string | undefined; readonly mention: boolean | undefined },
  ): string {
    const { tenant } = this.#server;
    const { replyTo, mention, ...facts } = message;
    const parent = replyTo ?? threadId;
    const me = { key: '@_user_1', id: { open_id: tenant.app.openId }, name: tenant.app.name, tenant_key: 'tenant' };
    const placed = parent === undefined ? {} : { parentId: parent, rootId: tenant.message(parent).rootId ?? parent };
    const inThread = threadId === undefined ? {} : { threadId: tenant.message(threadId).threadId };
    const mentions = mention === true ? [me] : [];
    const written = tenant.write({ ...facts, chatId, ...placed, ...inThread, mentions });
    this.#server.bring(written);
    return written.id;
  }

  #fileMessage(file: OfferedFile): readonly [string, Content] {
    const key = this.#store(file);
    if (file.kind === 'voice') return ['audio', { file_key: key, duration: 1_000 }];
    return ['file', { file_key: key, file_name: file.name }];
  }

  #store({ kind, name, bytes, claimedSize }: OfferedFile): string {
    return this.#server.tenant.addFile(kind === 'image' ? 'img' : 'file', name, bytes, claimedSize);
  }

  #fileOf({ type, content }: FeishuMessage): Seen['file'] {
    const image = imageOf(content);
    const key = type === 'file' ? String(content['file_key']) : image?.img_key;
    const stored = key === undefined ? undefined : this.#server.tenant.files.get(key);
    if (stored === undefined) return undefined;
    return {
      kind: image === undefined ? 'document' : 'image',
      name: image?.alt.content ?? stored.name,
      bytes: stored.bytes,
    };
  }
}

function textOf(content: Content): string {
  return typeof content['text'] === 'string' ? content['text'] : cardText(content);
}

function imageOf(
  content: Content,
): { readonly img_key: string; readonly alt: { readonly content: string } } | undefined {
  const { elements = [] } = (content['body'] ?? {}) as { elements?: readonly { tag: string }[] };
  return elements.find(({ tag }) => tag === 'img') as ReturnType<typeof imageOf>;
}
