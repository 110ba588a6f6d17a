import type { IncomingMessage } from 'node:http';
import { newSnowflake } from './discord-ids.ts';
import { readBytes } from './http.ts';
import { DiscordRefusal, type DiscordChats, type DiscordPost, type UploadedFile } from './discord-chats.ts';
import { compareIds } from '../../src/extensions/discord/snowflake.ts';
import { isRecord } from './validate.ts';

type Payload = Readonly<Record<string, unknown>>;

export interface DiscordBody {
  readonly json: unknown;
  readonly files: readonly UploadedFile[];
}

/** An interaction that people began. */
export interface OpenInteraction {
  readonly id: string;
  readonly token: string;
  readonly placeId: string;
  /** The type of its callback; undefined: it waits for one. */
  answered: number | undefined;
  /** What stands in its place now. */
  post: DiscordPost | undefined;
  /** Who alone sees what stands there. */
  onlyFor: string | undefined;
  /** Who began it. */
  readonly by: string;
  /** The place of its answer was taken away. */
  isGone: boolean;
}

interface RouteState {
  readonly chats: DiscordChats;
  readonly interactions: ReadonlyMap<string, OpenInteraction>;
  readonly application: string;
  readonly gatewayUrl: () => string;
  /** Whether the intents of the application are on. */
  readonly mayReadMessages: () => boolean;
  readonly commands: { list: readonly Payload[] };
  /** The present address of a file whose old one is over. */
  readonly fresh: (url: string) => string;
  /** Told of what the bot does, as the Gateway tells everybody. */
  readonly tell: (event: string, data: unknown) => void;
}

interface RouteCall extends DiscordBody {
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

const empty = undefined;
const EPHEMERAL = 64;

/** Every call but the Gateway's: what the API answers (undefined: 204), or a thrown `DiscordRefusal`. */
export function discordRoutes(
  state: RouteState,
): readonly { readonly method: string; readonly path: RegExp; readonly run: (call: RouteCall) => unknown }[] {
  const { chats, application, commands, tell } = state;
  const sent = (post: DiscordPost): Payload => {
    tell('MESSAGE_CREATE', chats.asMessage(post, { live: true }));
    return chats.asMessage(post);
  };
  return [
    { method: 'GET', path: /^\/gateway\/bot$/u, run: () => gatewayFacts(state.gatewayUrl()) },
    { method: 'GET', path: /^\/users\/@me$/u, run: () => chats.bot },
    { method: 'GET', path: /^\/users\/@me\/guilds$/u, run: () => [...chats.guilds.keys()].map((id) => ({ id })) },
    {
      method: 'GET',
      path: /^\/applications\/@me$/u,
      run: () => ({
        id: application,
        name: 'Test Bot',
        flags: state.mayReadMessages() ? 1 << 19 : 0,
        owner: { id: '123456789012345678', username: 'ann' },
        team: null,
      }),
    },
    {
      method: 'POST',
      path: /^\/users\/@me\/channels$/u,
      run: ({ json }) => ({
        id: chats.addPlace({ type: 1, name: String(recordOf(json)['recipient_id']) }).id,
        type: 1,
      }),
    },
    {
      method: 'GET',
      path: /^\/applications\/(\d+)\/commands$/u,
      // Discord adds to each what it made up itself, and its defaults.
      run: () =>
        commands.list.map((command) => ({
          id: newSnowflake(),
          application_id: application,
          version: newSnowflake(),
          default_member_permissions: null,
          nsfw: false,
          description: '',
          ...command,
        })),
    },
    {
      method: 'PUT',
      path: /^\/applications\/(\d+)\/commands$/u,
      run: ({ parts: [id], json }) => {
        if (id !== application) throw new DiscordRefusal(403, 20_012, 'You are not authorized for this application');
        commands.list = checkCommands(json);
        return commands.list;
      },
    },
    {
      method: 'GET',
      path: /^\/channels\/(\d+)$/u,
      run: ({ parts: [id = ''] }) => {
        const { type, guildId, parentId, name } = chats.place(id);
        return { id, type, name, guild_id: guildId, parent_id: parentId ?? null };
      },
    },
    {
      method: 'POST',
      path: /^\/channels\/(\d+)\/messages$/u,
      run: ({ parts: [id = ''], json, files }) => {
        const count = chats.posts.length;
        const post = chats.send(id, recordOf(json), files);
        return chats.posts.length > count ? sent(post) : chats.asMessage(post);
      },
    },
    {
      method: 'GET',
      path: /^\/channels\/(\d+)\/messages$/u,
      run: ({ parts: [id = ''], query }) => {
        chats.place(id);
        const after = query.get('after');
        const limit = Math.min(100, Number(query.get('limit') ?? 50));
        const posts = chats
          .in(id)
          .filter((post) => post.onlyFor === undefined && (after === null || compareIds(post.id, after) > 0));
        const page = after === null ? posts.slice(-limit) : posts.slice(0, limit);
        return page.map((post) => chats.asMessage(post)).toReversed();
      },
    },
    {
      method: 'PATCH',
      path: /^\/channels\/(\d+)\/messages\/(\d+)$/u,
      run: ({ parts: [id = '', message = ''], json }) => {
        const post = chats.edit(chats.find(id, message), recordOf(json));
        tell('MESSAGE_UPDATE', chats.asMessage(post, { live: true }));
        return chats.asMessage(post);
      },
    },
    { method: 'POST', path: /^\/channels\/(\d+)\/typing$/u, run: ({ parts: [id = ''] }) => void chats.place(id) },
    {
      method: 'PUT',
      path: /^\/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/u,
      run: ({ parts: [id = '', message = '', emoji = ''] }) => {
        chats.find(id, message).marks.add(decodeURIComponent(emoji));
      },
    },
    {
      method: 'DELETE',
      path: /^\/channels\/(\d+)\/messages\/(\d+)\/reactions\/([^/]+)\/@me$/u,
      run: ({ parts: [id = '', message = '', emoji = ''] }) => {
        chats.find(id, message).marks.delete(decodeURIComponent(emoji));
      },
    },
    {
      method: 'POST',
      path: /^\/interactions\/(\d+)\/([^/]+)\/callback$/u,
      run: ({ parts: [, token = ''], json }) => {
        const open = state.interactions.get(token);
        if (open === undefined) throw new DiscordRefusal(404, 10_062, 'Unknown interaction');
        if (open.answered !== undefined)
          throw new DiscordRefusal(400, 40_060, 'Interaction has already been acknowledged.');
        open.answered = Number(recordOf(json)['type']);
        const facts = recordOf(json)['data'];
        if (isRecord(facts) && Number(facts['flags']) === EPHEMERAL) open.onlyFor = open.by;
        return empty;
      },
    },
    {
      method: 'PATCH',
      path: /^\/webhooks\/(\d+)\/([^/]+)\/messages\/@original$/u,
      run: ({ parts: [, token = ''], json, files }) => {
        const open = state.interactions.get(token);
        if (open?.answered !== 5 || open.isGone) throw new DiscordRefusal(404, 10_015, 'Unknown Webhook');
        if (open.post !== undefined) return chats.asMessage(chats.edit(open.post, recordOf(json)));
        open.post = chats.send(open.placeId, recordOf(json), files, { isReply: true, onlyFor: open.onlyFor });
        return open.onlyFor === undefined ? sent(open.post) : chats.asMessage(open.post);
      },
    },
    {
      method: 'POST',
      path: /^\/webhooks\/(\d+)\/([^/]+)$/u,
      run: ({ parts: [, token = ''], json, files }) => {
        const open = state.interactions.get(token);
        if (open?.post === undefined || open.isGone) throw new DiscordRefusal(404, 10_015, 'Unknown Webhook');
        const isPrivate = (Number(recordOf(json)['flags']) & EPHEMERAL) !== 0;
        const post = chats.send(open.placeId, recordOf(json), files, {
          isReply: true,
          onlyFor: isPrivate ? open.by : undefined,
        });
        return isPrivate ? chats.asMessage(post) : sent(post);
      },
    },
    {
      method: 'DELETE',
      path: /^\/webhooks\/(\d+)\/([^/]+)\/messages\/@original$/u,
      run: ({ parts: [, token = ''] }) => {
        const open = state.interactions.get(token);
        if (open !== undefined) open.isGone = true;
        return empty;
      },
    },
    {
      method: 'POST',
      path: /^\/attachments\/refresh-urls$/u,
      run: ({ json }) => {
        const urls = recordOf(json)['attachment_urls'];
        const list = Array.isArray(urls) ? urls.map(String) : [];
        return { refreshed_urls: list.map((original) => ({ original, refreshed: state.fresh(original) })) };
      },
    },
  ];
}

/** JSON, or a form with files and its JSON in `payload_json`. */
export async function readDiscordBody(request: IncomingMessage): Promise<DiscordBody> {
  const bytes = await readBytes(request);
  const type = request.headers['content-type'] ?? '';
  if (bytes.byteLength === 0) return { json: {}, files: [] };
  if (!type.startsWith('multipart/form-data')) return { json: JSON.parse(bytes.toString('utf8')), files: [] };
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData();
  let json: unknown = {};
  const files: UploadedFile[] = [];
  for (const [key, value] of form) {
    if (typeof value !== 'string') files.push({ name: value.name, bytes: await value.bytes() });
    else if (key === 'payload_json') json = JSON.parse(value);
  }
  return { json, files };
}

function gatewayFacts(url: string): Payload {
  return {
    url,
    shards: 1,
    session_start_limit: { total: 1000, remaining: 999, reset_after: 14_400_000, max_concurrency: 1 },
  };
}

function recordOf(value: unknown): Payload {
  return isRecord(value) ? value : {};
}

function checkCommands(commands: unknown): readonly Payload[] {
  const list: readonly unknown[] = Array.isArray(commands) ? commands : [];
  // The pattern of names is that of typed commands (1); one on a message (3) has no description.
  const isFine = list.every(
    (one) =>
      isRecord(one) &&
      (one['type'] === 3
        ? /^.{1,32}$/u.test(String(one['name'])) && !('description' in one) && !('options' in one)
        : one['type'] === 1 &&
          /^[-_a-z0-9]{1,32}$/u.test(String(one['name'])) &&
          /^.{1,100}$/su.test(String(one['description']))),
  );
  const names = list.map((one) => (isRecord(one) ? `${String(one['type'])} ${String(one['name'])}` : undefined));
  if (!isFine || list.length > 100 || new Set(names).size < list.length) {
    throw new DiscordRefusal(400, 50_035, 'Invalid Form Body');
  }
  return list.filter(isRecord);
}
