import { BOT, TinCanServer, type Call, type Said, type Shown, type User } from '../../examples/tin-can/server.ts';
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

const TOKEN = 'string-and-two-cans';
const TYPES = { image: 'image/png', voice: 'audio/ogg', document: 'text/plain' } as const;
const STATUS = { throttled: 429, 'server-error': 500, blocked: 403 } as const;

/** The channel of docs/writing-a-channel.md, whose package lies in this folder. */
export function tinCanBench(folder: string): PlatformBench {
  return {
    kind: 'tincan',
    plugin: { name: 'tincan-channel', folder },
    lacks: {
      reactions: 'it has none',
      forwards: 'a tin can has no forwards',
      albums: 'a message has any number of files',
      stickers: 'a tin can has no stickers',
      places: 'a tin can has no places',
      markup: 'a tin can shows plain text',
      'refused markup': 'a tin can shows plain text',
    },
    openBot: (facts) => TinCanBench.open(facts),
  };
}

/** Ids of people and groups, unique in this process. */
let lastId = 0;
const newId = (what: string): string => `${what}${(lastId += 1)}`;

class TinCanBench implements BotBench {
  readonly botName = BOT.name;
  readonly config: Readonly<Record<string, unknown>>;
  readonly #server: TinCanServer;
  readonly #said = new Map<string, Said>();
  readonly #faults: { readonly chatId: string; readonly fault: Fault }[];

  private constructor(server: TinCanServer, faults: { chatId: string; fault: Fault }[], facts: BotFacts) {
    this.#server = server;
    this.#faults = faults;
    this.config = { server: server.url, token: facts.wrongCredentials === true ? 'a-frayed-string' : TOKEN };
  }

  static async open(facts: BotFacts): Promise<TinCanBench> {
    const faults: { chatId: string; fault: Fault }[] = [];
    const onCall = async (call: Call): Promise<boolean> => {
      if (!call.name.endsWith('/messages')) return false;
      const at = faults.findIndex(({ chatId }) => chatId === call.chat);
      const fault = at === -1 ? undefined : faults.splice(at, 1)[0]?.fault;
      if (fault === undefined) return false;
      await goWrong(call, fault);
      return true;
    };
    return new TinCanBench(await TinCanServer.open({ token: TOKEN, onCall }), faults, facts);
  }

  connect(): void {}

  person(name: string, { isBot = false }: { readonly isBot?: boolean } = {}): Person {
    return { id: newId('person'), name, isBot };
  }

  direct(person: Person): Place {
    return { chatId: person.id, type: 'direct' };
  }

  group(): Place {
    return { chatId: newId('group'), type: 'group' };
  }

  thread(group: Place): Place {
    return { ...group, threadId: newId('thread') };
  }

  sends(place: Place, { by, text, mention, replyTo, quote, files = [] }: UserMessage): string {
    const said = this.#server.say({
      ...placeOf(place),
      from: userOf(by),
      text: mention === true ? `@${BOT.name} ${text}` : text,
      mentions: mention === true ? [BOT.id] : [],
      ...(replyTo === undefined ? {} : { replyTo: this.#quoted(replyTo, quote) }),
      files: files.map((file) => this.#keep(file)),
    });
    this.#said.set(said.id, said);
    return said.id;
  }

  album = this.#nothing('albums');

  edits(_: Place, id: string, by: Person, text: string): void {
    const said = this.#said.get(id);
    if (said === undefined) throw new Error(`nobody wrote ${id}`);
    this.#server.put({ message: { ...said, from: userOf(by), text, edited: (said.edited ?? 0) + 1 } });
  }

  presses(place: Place, seen: Seen, label: string, by: Person): void {
    const shown = this.#server.shown.find(({ id }) => id === seen.id);
    const button = shown?.buttons?.flat().find((one) => one.label === label);
    if (button === undefined) throw new Error(`there is no button ${label}`);
    this.#server.press({ ...placeOf(place), from: userOf(by), button: button.id });
  }

  echoes(place: Place, text: string): void {
    this.#server.say({ ...placeOf(place), from: BOT, text: `@${BOT.name} ${text}`, mentions: [BOT.id] });
  }

  repeats(id: string): void {
    const said = this.#said.get(id);
    if (said === undefined) throw new Error(`nobody wrote ${id}`);
    this.#server.put({ message: said });
  }

  seen({ chatId, threadId }: Place): readonly Seen[] {
    return this.#server.shown
      .filter(({ chat, thread }) => chat === chatId && thread === threadId)
      .map(({ id, text, before, replyTo, buttons = [], files: [file] }) => ({
        id,
        text,
        raw: text,
        before,
        replyTo,
        threadId,
        buttons: buttons.flat().map(({ label }) => label),
        file: file && { kind: file.type, name: file.name, bytes: Buffer.from(file.data, 'base64') },
      }));
  }

  typed({ chatId, threadId }: Place): number {
    return this.#server.typed.filter(({ chat, thread }) => chat === chatId && thread === threadId).length;
  }

  fetched(): number {
    return this.#server.fetched;
  }

  fault({ chatId }: Place, fault: Fault, times = 1): void {
    for (let count = 0; count < times; count += 1) this.#faults.push({ chatId, fault });
  }

  cut(): void {
    this.#server.cut();
  }

  menu(): readonly string[] {
    return this.#server.menu.map(({ name }) => name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }

  #quoted(id: string, quote: string | undefined): NonNullable<Said['replyTo']> {
    const said = this.#said.get(id);
    const shown: Shown | undefined = this.#server.shown.find((one) => one.id === id);
    return { id, from: said?.from ?? BOT, text: quote ?? said?.text ?? shown?.text ?? '' };
  }

  #keep({ kind, name, bytes, claimedSize }: OfferedFile): Said['files'][number] {
    return { id: this.#server.keep(bytes), name, type: TYPES[kind], size: claimedSize ?? bytes.byteLength };
  }

  #nothing(what: string): () => never {
    return () => {
      throw new Error(`a tin can has no ${what}`);
    };
  }
}

async function goWrong({ act, response }: Call, fault: Fault): Promise<void> {
  switch (fault) {
    case 'hang':
      return;
    case 'lost-after':
      await act();
      response.destroy();
      return;
    case 'lost-before':
    case 'markup-refused':
      response.destroy();
      return;
    default:
      response.writeHead(STATUS[fault], { 'retry-after': '1' }).end();
  }
}

function placeOf({ chatId, threadId, type }: Place): Pick<Said, 'chat' | 'group' | 'thread'> {
  return { chat: chatId, group: type === 'group', ...(threadId === undefined ? {} : { thread: threadId }) };
}

function userOf({ id, name, isBot }: Person): User {
  return { id, name, bot: isBot };
}
