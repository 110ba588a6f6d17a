import { RecentMap } from '../../core/api.ts';
import type { DiscordGuild, DiscordPlace } from './payload.ts';

/** Channels and threads that are remembered; the others are asked for again. */
const MOST_CHANNELS = 5_000;
/** Servers whose roles are remembered. */
const MOST_GUILDS = 1_000;

/** https://discord.com/developers/docs/resources/channel#channel-object-channel-types */
const DIRECT = 1;
const THREADS: ReadonlySet<number> = new Set([10, 11, 12]);
/** Those in which people write: text, voice, announcements, threads, stages. The newest "message" of a forum is a thread. */
const TEXT_CHANNELS: ReadonlySet<number> = new Set([0, 2, 5, 10, 11, 12, 13]);

/** Where something is said: a thread is a conversation of its own within its channel. */
export interface Address {
  readonly chatId: string;
  readonly threadId?: string;
}

/** A channel, a thread or a direct chat. */
export interface ChatPlace {
  readonly address: Address;
  readonly isDirect: boolean;
  readonly guildId: string | undefined;
  readonly name: string | undefined;
}

/** What a server says of the bot itself. */
interface Self {
  readonly nick: string | null;
  readonly roles: ReadonlySet<string>;
  /** Names of the server's roles, by id. */
  readonly roleNames: ReadonlyMap<string, string>;
}

const stranger: Self = { nick: null, roles: new Set(), roleNames: new Map() };

/** What is known of servers, channels and threads: only what reading a message needs. */
export class ChannelCache {
  readonly #channels = new RecentMap<string, ChatPlace>(MOST_CHANNELS);
  readonly #guilds = new RecentMap<string, Self>(MOST_GUILDS);

  /** What a server says of itself when the bot connects or joins. Returns the places in which people write. */
  noteGuild(guild: DiscordGuild, botId: string): readonly DiscordPlace[] {
    const { id, channels = [], threads = [], roles = [], members = [] } = guild;
    const known = [...channels, ...threads].map((place) => ({ ...place, guild_id: id }));
    for (const place of known) this.note(place);
    const own = members.find(({ user }) => user?.id === botId);
    const managed = roles.filter(({ tags }) => tags?.bot_id === botId).map((role) => role.id);
    this.#guilds.set(id, {
      nick: own?.nick ?? null,
      roles: new Set([...managed, ...(own?.roles ?? [])]),
      roleNames: new Map(roles.map((role) => [role.id, role.name])),
    });
    return known.filter(({ type }) => TEXT_CHANNELS.has(type));
  }

  note({ id, type, parent_id: parentId, guild_id: guildId, name }: DiscordPlace): ChatPlace {
    const isThread = THREADS.has(type) && parentId != null;
    const place = {
      address: isThread ? { chatId: parentId, threadId: id } : { chatId: id },
      isDirect: type === DIRECT,
      guildId: guildId ?? undefined,
      name: name == null || name === '' ? undefined : name,
    };
    this.#channels.set(id, place);
    return place;
  }

  /** A direct chat, of which nothing but its id is told. */
  noteDirect(id: string): void {
    if (this.#channels.get(id) === undefined) this.note({ id, type: DIRECT });
  }

  /** Its roles or its name in a server changed. */
  noteSelf(guildId: string, { nick, roles }: { nick: string | null; roles: readonly string[] }): void {
    const known = this.self(guildId);
    this.#guilds.set(guildId, { ...known, nick, roles: new Set([...roles, ...known.roles]) });
  }

  self(guildId: string | undefined): Self {
    return (guildId === undefined ? undefined : this.#guilds.get(guildId)) ?? stranger;
  }

  get(id: string): ChatPlace | undefined {
    return this.#channels.get(id);
  }
}
