import type { GuardedFetch } from '../../core/api-tools.ts';
import { deadline, raceAbort, systemRandom } from '../../core/api.ts';
import {
  channelOptions,
  PlatformChannel,
  type ChannelContext,
  type Link,
  type Platform,
} from '../../core/api-channels.ts';
import { discordMarkup } from './markup.ts';
import { openApi, type DiscordApi } from './api.ts';
import { fill } from './command-answer.ts';
import { download, guardedFetch } from './download.ts';
import { callFailure, tokenRefused, toSendError } from './errors.ts';
import { openGateway } from './gateway.ts';
import { Listener } from './listener.ts';
import { discordOptions, type DiscordOptions } from './options.ts';
import { discordReactions, react, RefusedPlaces } from './reactions.ts';
import { bodyOf, discordAlbum, placeOf, sendPart } from './send.ts';
import { Deferrals, hasMenu, menuOf } from './slash-commands.ts';

const MENU_DEADLINE_MS = 30_000;
const GOODBYE_MS = 1_000;

/** A connection to Discord: hears through the Gateway, speaks through the REST API. */
interface DiscordConnection extends AsyncDisposable {
  readonly api: DiscordApi;
  readonly listener: Listener;
  readonly deferrals: Deferrals;
  readonly fetch: GuardedFetch;
  readonly context: ChannelContext;
  readonly reactions: RefusedPlaces;
}

/** The channel of an entry. */
export function openDiscord(
  name: string,
  settings: Readonly<Record<string, unknown>>,
): PlatformChannel<DiscordConnection> {
  return new PlatformChannel(name, discord(channelOptions(name, settings, discordOptions)), systemRandom);
}

/** A Discord bot. */
export function discord(options: DiscordOptions): Platform<DiscordConnection> {
  return {
    kind: 'discord',
    shows: { maxLength: 2000, buttons: true, threads: true, media: true },
    settlesResends: true,
    markup: discordMarkup,
    groups: options.groups,
    connect: (link) => connect(options, link),
    send: async (connection, part, signal) => {
      const { api, listener, context } = connection;
      const filled = await fill(connection, part, signal);
      return (filled ?? (await sendPart(api, part, { me: listener.me, now: context.clock.now(), signal }))).id;
    },
    edit: ({ api }, part, signal) => api.edit(placeOf(part), part.platformId, bodyOf(part), signal),
    typing: ({ api }, chat, signal) => api.typing(placeOf(chat), signal),
    react: ({ api, reactions }, target, change, signal) =>
      reactions.unlessRefused(placeOf(target), () => react(api, target, change, signal)),
    stateReactions: discordReactions,
    album: discordAlbum,
    download: (connection, source, limits) => download(source, connection, limits),
    toSendError,
  };
}

async function connect({ token, apiBase, ...options }: DiscordOptions, link: Link): Promise<DiscordConnection> {
  const { name, context, signal, heard, report } = link;
  const { clock, log } = context;
  await using stack = new AsyncDisposableStack();
  const api = stack.use(openApi({ token, apiBase, permit: context.permit }));
  const deferrals = new Deferrals(clock);
  const listener = stack.use(new Listener({ options, api, link, deferrals }));
  stack.defer(() => giveUp(deferrals, { api, listener, context }));
  const gateway = await openGateway(
    {
      channel: name,
      rest: api.rest,
      token,
      hear: (event, data) => listener.hear(event, data),
      report: (trouble) => report('connection', trouble),
      beat: heard,
      fail: (error) => context.fail(error),
      clock,
      log,
    },
    signal,
  );
  stack.use(gateway);
  void showMenu({ api, listener, link });
  const open = stack.move();
  const fetch = guardedFetch(apiBase, clock);
  const reactions = new RefusedPlaces(() =>
    report(
      'reactions',
      `The Discord bot of channel "${name}" may not add reactions in some channel: give its role "Add Reactions" and "Read Message History" there, or set channels.${name}.reactions.show to false.`,
      'running',
    ),
  );
  return { api, listener, deferrals, fetch, context, reactions, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** What still waits for an answer now will not get it in its place. */
async function giveUp(
  deferrals: Deferrals,
  { api, listener, context }: Pick<DiscordConnection, 'api' | 'listener' | 'context'>,
): Promise<void> {
  const tokens = deferrals.takeAll();
  if (tokens.length === 0) return;
  using limit = deadline(context.clock, GOODBYE_MS, 'Taking waiting commands back');
  const { signal } = limit;
  const all = Promise.allSettled(tokens.map((token) => api.unfill(listener.application, token, signal)));
  await raceAbort(all, signal).catch(() => {});
}

async function showMenu({
  api,
  listener,
  link,
}: Pick<DiscordConnection, 'api' | 'listener'> & { readonly link: Link }): Promise<void> {
  const { name, context, signal } = link;
  const { commands, clock, log } = context;
  if (commands.length === 0) return;
  using limit = deadline(clock, MENU_DEADLINE_MS, 'Registering commands');
  try {
    const menu = menuOf(commands);
    const both = AbortSignal.any([signal, limit.signal]);
    if (!hasMenu(await api.registered(listener.application, both), menu))
      await api.register(listener.application, menu, both);
  } catch (error) {
    const failure = callFailure(error);
    if (failure.status === 401) context.fail(tokenRefused(name));
    else if (!signal.aborted) log.info('discord: command menu not set', { reason: failure.reason });
  }
}
