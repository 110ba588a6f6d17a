import type { DiscordPerson, DiscordPlace, DiscordPost, UploadedFile } from '../support/discord-chats.ts';
import { newSnowflake } from '../support/discord-ids.ts';
import { startFakeDiscord, type DiscordFault, type DiscordWords, type FakeDiscord } from '../support/fake-discord.ts';
import { records } from '../support/validate.ts';
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
  'server-error': { status: 500 },
  'lost-before': 'reset-before',
  'lost-after': 'reset-after',
  blocked: { status: 403 },
  hang: 'hang',
  'markup-refused': { status: 400 },
} as const satisfies Record<Fault, DiscordFault>;

const TYPES = { image: 'image/png', voice: 'audio/ogg', document: 'text/plain' } as const;

export const discordBench: PlatformBench = {
  kind: 'discord',
  lacks: {
    places: 'Discord has no locations and no contacts',
    'refused markup': 'Discord shows what it cannot read as it was sent',
  },
  openBot: (facts) => DiscordBench.open(facts),
};

class DiscordBench implements BotBench {
  readonly botName = 'test_bot';
  readonly config: Readonly<Record<string, unknown>>;
  readonly #server: FakeDiscord;
  readonly #faults: { readonly place: string; readonly fault: Fault }[] = [];

  private constructor(server: FakeDiscord, { wrongCredentials = false }: BotFacts) {
    this.#server = server;
    this.config = { token: wrongCredentials ? 'wrong.token' : server.token, apiBase: server.apiBase };
    server.setFaultHandler((route) => {
      const [, place] = /^(?:POST|PATCH) \/channels\/(\d+)\/messages/u.exec(route) ?? [];
      const at = this.#faults.findIndex((one) => one.place === place);
      const fault = at === -1 ? undefined : this.#faults.splice(at, 1)[0]?.fault;
      return fault === undefined ? undefined : FAULTS[fault];
    });
  }

  static async open(facts: BotFacts): Promise<DiscordBench> {
    return new DiscordBench(await startFakeDiscord(), facts);
  }

  connect(): void {}

  person(name: string, { isBot = false }: { readonly isBot?: boolean } = {}): Person {
    return { id: newSnowflake(), name, isBot };
  }

  direct(person: Person): Place {
    return { chatId: this.#server.direct(userOf(person)).id, type: 'direct' };
  }

  group(): Place {
    return { chatId: this.#server.addChannel().id, type: 'group' };
  }

  thread(group: Place): Place {
    return { ...group, threadId: this.#server.addThread(this.#placeOf(group)).id };
  }

  sends(place: Place, userMessage: UserMessage): string {
    const { by, text, mention } = userMessage;
    const content = mention === true ? `<@${this.#server.bot.id}> ${text}` : text;
    const isForward = userMessage.forwarded === true;
    return this.#server.sends(this.#placeOf(place), userOf(by), isForward ? '' : content, wordsOf(userMessage)).id;
  }

  album(place: Place, by: Person, files: readonly OfferedFile[], caption: string): void {
    this.sends(place, { by, text: caption, files });
  }

  edits(place: Place, id: string, _by: Person, text: string): void {
    this.#server.edits(this.#placeOf(place), id, text);
  }

  presses(place: Place, seen: Seen, label: string, by: Person): void {
    const button = buttonsOf(this.#server.chats.find(idOf(place), seen.id)).find((one) => one.label === label);
    if (button === undefined) throw new Error(`there is no button ${label}`);
    this.#server.presses(this.#placeOf(place), seen.id, button.id, userOf(by));
  }

  reacts(place: Place, seen: Seen, by: Person, emoji: string, { takenBack = false } = {}): void {
    const { id, guildId } = this.#placeOf(place);
    const member = guildId === undefined || takenBack ? {} : { member: { user: userOf(by), nick: null, roles: [] } };
    const guild = guildId === undefined ? {} : { guild_id: guildId };
    this.#server.gateway.dispatch(takenBack ? 'MESSAGE_REACTION_REMOVE' : 'MESSAGE_REACTION_ADD', {
      user_id: by.id,
      channel_id: id,
      message_id: seen.id,
      emoji: { id: null, name: emoji },
      ...guild,
      ...member,
    });
  }

  marks(place: Place, id: string): readonly string[] {
    return [...this.#server.chats.find(idOf(place), id).marks];
  }

  echoes(place: Place, text: string): void {
    this.#server.sends(this.#placeOf(place), this.#server.bot, `<@${this.#server.bot.id}> ${text}`);
  }

  repeats(id: string): void {
    const post = this.#server.chats.posts.find((one) => one.id === id);
    if (post === undefined) throw new Error(`nobody wrote ${id}`);
    this.#server.gateway.dispatch('MESSAGE_CREATE', this.#server.chats.asMessage(post, { live: true }));
  }

  seen(place: Place): readonly Seen[] {
    return this.#server.sent({ id: idOf(place) }).flatMap((post): readonly Seen[] => {
      const { id, visible: text, content: raw, editedFrom: before, replyTo, files } = post;
      const buttons = buttonsOf(post).map(({ label }) => label);
      const seen = { id, text, raw, before, replyTo, threadId: place.threadId, buttons };
      if (files.length === 0) return [{ ...seen, file: undefined }];
      return files.map((file) => ({ ...seen, file: { kind: 'file', ...file } }));
    });
  }

  typed(place: Place): number {
    return this.#server.calls.filter(({ route }) => route === `POST /channels/${idOf(place)}/typing`).length;
  }

  fetched(): number {
    return this.#server.fetched;
  }

  fault(place: Place, fault: Fault, times = 1): void {
    for (let count = 0; count < times; count += 1) this.#faults.push({ place: idOf(place), fault });
  }

  cut(): void {
    this.#server.cutAll();
  }

  menu(): readonly string[] {
    return this.#server.commands.map(({ name }) => String(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.close();
    const { problems } = this.#server.chats;
    if (problems.length > 0) throw new Error(`what should not be sent to Discord: ${problems.join('; ')}`);
  }

  #placeOf(place: Place): DiscordPlace {
    return this.#server.chats.place(idOf(place));
  }
}

function idOf({ chatId, threadId }: Place): string {
  return threadId ?? chatId;
}

function userOf({ id, name, isBot }: Person): DiscordPerson {
  return { id, username: name.toLowerCase(), global_name: name, bot: isBot };
}

function wordsOf({ text, replyTo, forwarded, files = [], special }: UserMessage): DiscordWords {
  const sticker = special !== undefined && 'sticker' in special ? special.sticker : undefined;
  return {
    files: files.map(uploadOf),
    ...(replyTo === undefined ? {} : { replyTo }),
    facts: {
      ...(sticker === undefined ? {} : { sticker_items: [{ id: newSnowflake(), name: sticker, format_type: 1 }] }),
      ...(forwarded === true
        ? {
            message_reference: { type: 1, message_id: newSnowflake() },
            message_snapshots: [{ message: { type: 0, content: text, attachments: [], timestamp: '' } }],
          }
        : {}),
    },
  };
}

function uploadOf({ kind, name, bytes, claimedSize }: OfferedFile): UploadedFile {
  return { name, bytes, type: TYPES[kind], ...(claimedSize === undefined ? {} : { claimedSize }) };
}

function buttonsOf({ components }: DiscordPost): readonly { readonly label: string; readonly id: string }[] {
  return components
    .flatMap((row) => records(row['components']))
    .map((button) => ({ label: String(button['label']), id: String(button['custom_id']) }));
}
