import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  DiscordChats,
  DiscordRefusal,
  type DiscordPerson,
  type DiscordPlace,
  type DiscordPost,
} from './discord-chats.ts';
import { DiscordGateway } from './discord-gateway.ts';
import { newSnowflake } from './discord-ids.ts';
import { discordRoutes, readDiscordBody, type OpenInteraction } from './discord-routes.ts';
import { callerOf, pause, replyJson, resetConnection, startServer, untilClosed } from './http.ts';
import { describeFault, type TelegramFault } from './telegram-faults.ts';
import { acceptWebSockets } from './web-socket-server.ts';

type Payload = Readonly<Record<string, unknown>>;

/** How one call goes wrong; as the Bot API's double. */
export type DiscordFault = TelegramFault;

export interface DiscordCall {
  /** `POST /channels/1/messages` */
  readonly route: string;
  readonly body: unknown;
  /** Who called, where its `apiBase` is that of `apiBaseOf(NAME)`; '' otherwise. */
  readonly from: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  /** How it ended: a status, or the fault; undefined while it runs. */
  outcome: number | string | undefined;
}

/** What somebody writes. */
export interface DiscordWords {
  readonly files?: DiscordPost['files'];
  readonly replyTo?: string;
  /** Goes into the message object. */
  readonly facts?: Payload;
}

export interface FakeDiscord extends AsyncDisposable {
  /** What the channel takes as `apiBase`. */
  readonly apiBase: string;
  /** The same for one caller of several, whose calls have its name. */
  apiBaseOf(name: string): string;
  readonly token: string;
  readonly bot: DiscordPerson;
  readonly application: string;
  readonly chats: DiscordChats;
  readonly gateway: DiscordGateway;
  readonly calls: readonly DiscordCall[];
  readonly interactions: readonly OpenInteraction[];
  /** The commands in the menu. */
  readonly commands: readonly Payload[];
  /** A server with one channel, which is returned. */
  addChannel(facts?: { readonly name?: string }): DiscordPlace;
  /** `ofMessage`: the thread has the id of that message. */
  addThread(parent: DiscordPlace, facts?: { readonly name?: string; readonly ofMessage?: string }): DiscordPlace;
  /** The direct chat of a person with the bot. */
  direct(person: DiscordPerson): DiscordPlace;
  /** Somebody writes; the Gateway tells of it. */
  sends(place: DiscordPlace, by: DiscordPerson, content: string, words?: DiscordWords): DiscordPost;
  edits(place: DiscordPlace, post: string, content: string): void;
  deletes(place: DiscordPlace, post: string): void;
  presses(place: DiscordPlace, post: string, customId: string, by: DiscordPerson): OpenInteraction;
  commandsOf(place: DiscordPlace, by: DiscordPerson, name: string, text?: string): OpenInteraction;
  /** Calls a command from the menu of a message. */
  commandsOn(place: DiscordPlace, by: DiscordPerson, name: string, post: string): OpenInteraction;
  /** The bot's messages there, oldest first. */
  sent(place: Pick<DiscordPlace, 'id'>): readonly DiscordPost[];
  /** Decides for each call; undefined: no handler. */
  setFaultHandler(handler: ((route: string, body: unknown) => DiscordFault | undefined) | undefined): void;
  /** The next `times` calls of routes like this fail so. @default once */
  faultNext(route: RegExp, fault: DiscordFault, times?: number): void;
  /** The addresses of files so far are over; they are to be asked for anew. */
  expireFiles(): void;
  /** Files that were fetched, also in vain. */
  readonly fetched: number;
  cutAll(): void;
  close(): Promise<void>;
}

export interface FakeDiscordOptions {
  readonly token?: string;
  /** @default Discord's own 41 s */
  readonly heartbeatMs?: number;
}

/** Discord's REST API and Gateway for one bot. Its state lives as long as the test, whatever happens to the client. */
export async function startFakeDiscord(options: FakeDiscordOptions = {}): Promise<FakeDiscord> {
  const { token = 'MTIz.test.discord-token-4f1d', heartbeatMs = 41_250 } = options;
  const bot: DiscordPerson = { id: newSnowflake(), username: 'test_bot', global_name: 'Test Bot', bot: true };
  const application = newSnowflake();
  let key = 1;
  let fetched = 0;
  const chats = new DiscordChats(bot, (post, n) => `${server.url}/files/${post}/${n}?key=${key}`);
  const calls: DiscordCall[] = [];
  const interactions = new Map<string, OpenInteraction>();
  const commands: { list: readonly Payload[] } = { list: [] };
  const faults: { readonly route: RegExp; readonly fault: DiscordFault }[] = [];
  let faultHandler: ((route: string, body: unknown) => DiscordFault | undefined) | undefined;

  const placeFacts = ({ id, type, name, parentId, madeAt }: DiscordPlace): Payload => ({
    id,
    type,
    name,
    parent_id: parentId ?? null,
    last_message_id: chats.in(id).at(-1)?.id ?? null,
    ...(type === 11 ? { thread_metadata: { archived: false, create_timestamp: madeAt } } : {}),
  });
  const guildFacts = (id: string, botRole: string): Payload => {
    const places = [...chats.channels.values()].filter(({ guildId }) => guildId === id);
    return {
      id,
      name: `Server ${id}`,
      channels: places.filter(({ type }) => type === 0).map(placeFacts),
      threads: places.filter(({ type }) => type === 11).map(placeFacts),
      roles: [
        { id, name: '@everyone' },
        { id: botRole, name: 'Helpers', tags: { bot_id: bot.id } },
      ],
      members: [{ user: bot, nick: null, roles: [botRole] }],
    };
  };
  const gateway = new DiscordGateway({
    token,
    heartbeatMs,
    ready: () => ({
      v: 10,
      user: bot,
      guilds: [...chats.guilds.keys()].map((id) => ({ id, unavailable: true })),
      resume_gateway_url: server.url.replace('http', 'ws'),
      application: { id: application, flags: 0 },
    }),
    guilds: () => [...chats.guilds.values()].map(({ id, botRole }) => guildFacts(id, botRole)),
  });
  const routes = discordRoutes({
    chats,
    interactions,
    application,
    commands,
    gatewayUrl: () => server.url.replace('http', 'ws'),
    mayReadMessages: () => gateway.mayReadMessages,
    fresh: (url) => url.replace(/key=\d+/u, `key=${key}`),
    tell: (event, data) => gateway.dispatch(event, data),
  });

  const takeFault = (route: string, body: unknown): DiscordFault | undefined => {
    const at = faults.findIndex((fault) => fault.route.test(route));
    return at === -1 ? faultHandler?.(route, body) : faults.splice(at, 1)[0]?.fault;
  };

  const serveFile = (url: URL, response: ServerResponse): void => {
    fetched += 1;
    const [, post, n] = /^\/files\/(\d+)\/(\d+)$/u.exec(url.pathname) ?? [];
    const file = chats.posts.find(({ id }) => id === post)?.files[Number(n)];
    if (file === undefined || url.searchParams.get('key') !== String(key)) {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(file.bytes);
  };

  const serveCall = async (request: IncomingMessage, url: URL, response: ServerResponse): Promise<void> => {
    const { from, path: address } = callerOf(url.pathname);
    const path = decodeURIComponent(address.replace(/^\/api\/v10/u, ''));
    const route = `${request.method} ${path}`;
    const { json, files } = await readDiscordBody(request);
    const call: DiscordCall = { route, body: json, from, at: Date.now(), outcome: undefined };
    calls.push(call);
    const isOpen = /^\/(?:interactions|webhooks)\//u.test(path);
    if (!isOpen && request.headers.authorization !== `Bot ${token}`) {
      call.outcome = 401;
      replyJson(response, 401, { message: '401: Unauthorized', code: 0 });
      return;
    }
    const given = takeFault(route, json);
    const fault = given === undefined ? undefined : describeFault(given);
    let status = 200;
    let answer: unknown;
    if (fault?.taken !== false) {
      try {
        const found = routes.find((one) => one.method === request.method && one.path.test(path));
        if (found === undefined) throw new DiscordRefusal(404, 0, '404: Not Found');
        const parts = (found.path.exec(path) ?? []).slice(1).map(String);
        answer = found.run({ parts, query: url.searchParams, json, files });
        if (answer === undefined) status = 204;
      } catch (error) {
        if (!(error instanceof DiscordRefusal)) throw error;
        status = error.status;
        answer = { message: error.message, code: error.code };
      }
    }
    if (fault?.delayMs !== undefined && !(await pause(response, fault.delayMs))) {
      call.outcome = 'client gone';
      return;
    }
    call.outcome = fault?.label ?? status;
    switch (fault?.end) {
      case 'reset':
        resetConnection(response);
        return;
      case 'hang':
        await untilClosed(response);
        return;
      case 'html':
        response.writeHead(fault.status, { 'content-type': 'text/html' }).end('<html><h1>Bad</h1></html>');
        return;
      case 'json': {
        const { retryAfter, description } = fault;
        const wait = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter), 'x-ratelimit-scope': 'user' };
        const body = {
          message: description,
          code: 0,
          ...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
        };
        replyJson(response, fault.status, body, wait);
        return;
      }
      default:
        if (status === 204) response.writeHead(204).end();
        else replyJson(response, status, answer);
    }
  };

  const server = await startServer(
    async (request, response) => {
      const url = new URL(request.url ?? '/', 'http://localhost');
      if (url.pathname.startsWith('/files/')) serveFile(url, response);
      else await serveCall(request, url, response);
    },
    { prepare: (http) => acceptWebSockets(http, (socket) => gateway.accept(socket)) },
  );

  const interact = (place: DiscordPlace, by: DiscordPerson, more: Payload): OpenInteraction => {
    const open: OpenInteraction = {
      id: newSnowflake(),
      token: `interaction-${newSnowflake()}`,
      placeId: place.id,
      answered: undefined,
      post: undefined,
      onlyFor: undefined,
      by: by.id,
      isGone: false,
    };
    interactions.set(open.token, open);
    const { guildId } = place;
    gateway.dispatch('INTERACTION_CREATE', {
      id: open.id,
      token: open.token,
      application_id: application,
      version: 1,
      channel_id: place.id,
      channel: { id: place.id, type: place.type, name: place.name, parent_id: place.parentId ?? null },
      ...(guildId === undefined ? { user: by } : { guild_id: guildId, member: { user: by, nick: null, roles: [] } }),
      ...more,
    });
    return open;
  };

  return {
    apiBase: `${server.url}/api`,
    apiBaseOf: (name) => `${server.url}/from/${name}/api`,
    token,
    bot,
    application,
    chats,
    gateway,
    calls,
    get interactions() {
      return [...interactions.values()];
    },
    get commands() {
      return commands.list;
    },
    get fetched() {
      return fetched;
    },
    addChannel({ name = 'general' } = {}) {
      const guildId = newSnowflake();
      const botRole = newSnowflake();
      chats.guilds.set(guildId, { id: guildId, botRole });
      const place = chats.addPlace({ guildId, name });
      gateway.dispatch('GUILD_CREATE', guildFacts(guildId, botRole));
      return place;
    },
    addThread(parent, { name = 'thread', ofMessage: id = newSnowflake() } = {}) {
      const place = chats.addPlace({ id, type: 11, guildId: parent.guildId, parentId: parent.id, name });
      gateway.dispatch('THREAD_CREATE', { ...placeFacts(place), guild_id: parent.guildId });
      return place;
    },
    direct(person) {
      const name = `dm ${person.id}`;
      const known = [...chats.channels.values()].find((place) => place.name === name);
      return known ?? chats.addPlace({ type: 1, name });
    },
    sends(place, by, content, { files = [], replyTo, facts = {} } = {}) {
      const post = chats.write(place.id, by, content, { files, replyTo, facts });
      gateway.dispatch('MESSAGE_CREATE', chats.asMessage(post, { live: true }));
      return post;
    },
    edits(place, id, content) {
      const post = chats.find(place.id, id);
      Object.assign(post, { content, visible: content, editedAt: new Date().toISOString() });
      gateway.dispatch('MESSAGE_UPDATE', chats.asMessage(post, { live: true }));
    },
    deletes(place, id) {
      chats.posts.splice(chats.posts.indexOf(chats.find(place.id, id)), 1);
      gateway.dispatch('MESSAGE_DELETE', { id, channel_id: place.id, guild_id: place.guildId });
    },
    presses: (place, post, customId, by) =>
      interact(place, by, {
        type: 3,
        data: { component_type: 2, custom_id: customId },
        message: chats.asMessage(chats.find(place.id, post)),
      }),
    commandsOf: (place, by, name, text) =>
      interact(place, by, {
        type: 2,
        data: { id: '1', type: 1, name, options: text === undefined ? [] : [{ name: 'text', type: 3, value: text }] },
      }),
    commandsOn: (place, by, name, post) =>
      interact(place, by, {
        type: 2,
        data: {
          id: '2',
          type: 3,
          name,
          target_id: post,
          resolved: { messages: { [post]: chats.asMessage(chats.find(place.id, post)) } },
        },
      }),
    sent: ({ id }) => chats.in(id).filter(({ author }) => author.id === bot.id),
    setFaultHandler(handler) {
      faultHandler = handler;
    },
    faultNext(route, fault, times = 1) {
      for (let count = 0; count < times; count += 1) faults.push({ route, fault });
    },
    expireFiles() {
      key += 1;
    },
    cutAll: () => server.cutAll(),
    close: () => server.close(),
    [Symbol.asyncDispose]: () => server.close(),
  };
}
