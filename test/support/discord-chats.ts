import { readDiscord } from './discord-markdown.ts';
import { newSnowflake } from './discord-ids.ts';
import { isRecord, records } from './validate.ts';

type Payload = Readonly<Record<string, unknown>>;

export interface DiscordPerson {
  readonly id: string;
  readonly username: string;
  readonly global_name?: string | null;
  readonly bot?: boolean;
}

/** A refusal with Discord's own words. */
export class DiscordRefusal extends Error {
  readonly status: number;
  readonly code: number;

  constructor(status: number, code: number, message: string) {
    super(message);
    this.name = 'DiscordRefusal';
    this.status = status;
    this.code = code;
  }
}

export interface UploadedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Its media type, as Discord says it. */
  readonly type?: string;
  /** What Discord says of its size, where that is not the truth. */
  readonly claimedSize?: number;
}

export interface DiscordPlace {
  readonly id: string;
  /** 0 a channel, 1 a direct chat, 11 a thread. */
  readonly type: number;
  readonly guildId: string | undefined;
  readonly parentId: string | undefined;
  readonly name: string;
  /** ISO 8601. */
  readonly madeAt: string;
}

/** A message as it stands now. */
export interface DiscordPost {
  readonly id: string;
  readonly placeId: string;
  readonly author: DiscordPerson;
  content: string;
  /** What people see of it. */
  visible: string;
  /** What people saw before each edit, oldest first. */
  readonly editedFrom: string[];
  components: readonly Payload[];
  readonly files: readonly UploadedFile[];
  readonly replyTo: string | undefined;
  /** Who alone sees it; undefined: everybody there. */
  readonly onlyFor: string | undefined;
  /** Everything else that its message object has. */
  facts: Payload;
  editedAt: string | null;
  /** The bot's own reactions on it. */
  readonly marks: Set<string>;
}

const LONGEST = 2_000;

/** Servers, channels, direct chats, and what was written in them. */
export class DiscordChats {
  readonly bot: DiscordPerson;
  readonly channels = new Map<string, DiscordPlace>();
  readonly guilds = new Map<string, { readonly id: string; readonly botRole: string }>();
  readonly posts: DiscordPost[] = [];
  /** What the bot did that it should not do on Discord. */
  readonly problems: string[] = [];
  readonly #byNonce = new Map<string, DiscordPost>();
  readonly #people = new Map<string, DiscordPerson>();
  readonly #fileUrl: (post: string, n: number) => string;

  constructor(bot: DiscordPerson, fileUrl: (post: string, n: number) => string) {
    this.bot = bot;
    this.#fileUrl = fileUrl;
    this.#people.set(bot.id, bot);
  }

  addPlace(facts: Partial<DiscordPlace>): DiscordPlace {
    const place = {
      id: newSnowflake(),
      type: 0,
      guildId: undefined,
      parentId: undefined,
      name: 'general',
      madeAt: new Date().toISOString(),
      ...facts,
    };
    this.channels.set(place.id, place);
    return place;
  }

  person(person: DiscordPerson): DiscordPerson {
    this.#people.set(person.id, person);
    return person;
  }

  in(placeId: string): readonly DiscordPost[] {
    return this.posts.filter((post) => post.placeId === placeId);
  }

  find(placeId: string, id: string): DiscordPost {
    const post = this.posts.find((one) => one.placeId === placeId && one.id === id);
    if (post === undefined) throw new DiscordRefusal(404, 10_008, 'Unknown Message');
    return post;
  }

  place(id: string): DiscordPlace {
    const place = this.channels.get(id);
    if (place === undefined) throw new DiscordRefusal(404, 10_003, 'Unknown Channel');
    return place;
  }

  /** What anybody writes. */
  write(placeId: string, author: DiscordPerson, content: string, more: Partial<DiscordPost> = {}): DiscordPost {
    this.place(placeId);
    this.person(author);
    const post: DiscordPost = {
      id: newSnowflake(),
      placeId,
      author,
      content,
      visible: content,
      editedFrom: [],
      components: [],
      files: [],
      replyTo: undefined,
      facts: {},
      onlyFor: undefined,
      editedAt: null,
      marks: new Set(),
      ...more,
    };
    this.posts.push(post);
    return post;
  }

  /** What the bot sends; `isReply`: into the place of an interaction, `onlyFor`: where one person alone sees it. */
  send(
    placeId: string,
    body: Payload,
    files: readonly UploadedFile[],
    { isReply = false, onlyFor }: { readonly isReply?: boolean; readonly onlyFor?: string } = {},
  ): DiscordPost {
    const { nonce, enforce_nonce: enforced } = body;
    const checked = this.#check(body, files);
    if (!isReply && (typeof nonce !== 'string' || nonce.length > 25 || enforced !== true)) {
      this.problems.push(`a message without a nonce that counts: ${checked.content}`);
    }
    const key = `${placeId} ${String(nonce)}`;
    const known = enforced === true ? this.#byNonce.get(key) : undefined;
    if (known !== undefined) return known;
    const reference = body['message_reference'];
    const replyTo = isRecord(reference) ? String(reference['message_id']) : undefined;
    const post = this.write(placeId, this.bot, checked.content, { ...checked, files, replyTo, onlyFor });
    if (typeof nonce === 'string') this.#byNonce.set(key, post);
    return post;
  }

  edit(post: DiscordPost, body: Payload): DiscordPost {
    if (post.author.id !== this.bot.id)
      throw new DiscordRefusal(403, 50_005, 'Cannot edit a message authored by another user');
    const { content, visible, components } = this.#check(body, post.files);
    post.editedFrom.push(post.visible);
    Object.assign(post, { content, visible, components, editedAt: new Date().toISOString() });
    return post;
  }

  /** Forgets the nonces, as Discord does after some minutes. */
  forgetNonces(): void {
    this.#byNonce.clear();
  }

  /** The message object of the API; with what only the Gateway tells. */
  asMessage(post: DiscordPost, { live = false } = {}): Payload {
    const { guildId } = this.place(post.placeId);
    const answered = post.replyTo === undefined ? undefined : this.posts.find(({ id }) => id === post.replyTo);
    const ids = [...post.content.matchAll(/<@!?(?<id>\d+)>/gu)].map((match) => match.groups?.['id'] ?? '');
    return {
      id: post.id,
      channel_id: post.placeId,
      type: post.replyTo === undefined ? 0 : 19,
      author: post.author,
      content: post.content,
      timestamp: new Date(Number(BigInt(post.id) >> 22n) + 1_420_070_400_000).toISOString(),
      edited_timestamp: post.editedAt,
      tts: false,
      mention_everyone: false,
      mentions: [...new Set(ids)].flatMap((id) => this.#people.get(id) ?? []),
      mention_roles: [...post.content.matchAll(/<@&(?<id>\d+)>/gu)].map((match) => match.groups?.['id'] ?? ''),
      attachments: post.files.map(({ name, bytes, type, claimedSize }, n) => ({
        id: newSnowflake(),
        filename: name,
        size: claimedSize ?? bytes.byteLength,
        ...(type === undefined ? {} : { content_type: type }),
        url: this.#fileUrl(post.id, n),
        proxy_url: this.#fileUrl(post.id, n),
      })),
      embeds: [],
      pinned: false,
      flags: 0,
      components: post.components,
      ...(answered === undefined
        ? {}
        : {
            message_reference: { type: 0, message_id: answered.id, channel_id: answered.placeId },
            referenced_message: this.asMessage(answered),
          }),
      ...(live && guildId !== undefined ? { guild_id: guildId, member: { nick: null, roles: [] } } : {}),
      ...post.facts,
    };
  }

  #check(body: Payload, files: readonly UploadedFile[]): Pick<DiscordPost, 'content' | 'visible' | 'components'> {
    const content = (typeof body['content'] === 'string' ? body['content'] : '').trim();
    if (content.length > LONGEST)
      throw new DiscordRefusal(400, 50_035, 'Invalid Form Body\ncontent[BASE_TYPE_MAX_LENGTH]');
    if (content === '' && files.length === 0) throw new DiscordRefusal(400, 50_006, 'Cannot send an empty message');
    const mentions = body['allowed_mentions'];
    const isQuiet = isRecord(mentions) && Array.isArray(mentions['parse']) && mentions['parse'].length === 0;
    if (!isQuiet) this.problems.push(`a message that may ping: ${content}`);
    if ((Number(body['flags'] ?? 0) & 4) === 0) this.problems.push(`a message that shows previews: ${content}`);
    const { visible, problems } = content === '' ? { visible: '', problems: [] } : readDiscord(content);
    this.problems.push(...problems);
    return { content, visible, components: checkRows(records(body['components'])) };
  }
}

function checkRows(rows: readonly Payload[]): readonly Payload[] {
  const ids = new Set<unknown>();
  const refuse = (): never => {
    throw new DiscordRefusal(400, 50_035, 'Invalid Form Body\ncomponents[BUTTON]');
  };
  if (rows.length > 5) refuse();
  for (const row of rows) {
    const buttons = records(row['components']);
    if (row['type'] !== 1 || buttons.length < 1 || buttons.length > 5) refuse();
    for (const { type, label, custom_id: id } of buttons) {
      const isFine = typeof label === 'string' && label.length >= 1 && label.length <= 80 && typeof id === 'string';
      if (type !== 2 || !isFine || id.length < 1 || id.length > 100 || ids.has(id)) refuse();
      ids.add(id);
    }
  }
  return rows;
}
