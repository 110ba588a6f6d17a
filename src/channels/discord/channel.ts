import type { GuardedFetch } from '../../security/fetch/fetch.ts';
import { deadline, raceAbort } from '../../util/clock.ts';
import type { Random } from '../../util/random.ts';
import { SendError, type Channel, type ChannelContext, type ChannelHealth, type OutgoingPart } from '../channel.ts';
import { GroupTalk } from '../inbound/group-talk.ts';
import { discordMarkup } from '../markup/discord.ts';
import { UnknownSenders } from '../inbound/unknown-senders.ts';
import { openApi, type DiscordApi } from './api.ts';
import { download, guardedFetch } from './download.ts';
import { callFailure, isRefused, tokenRefused, toSendError } from './errors.ts';
import { openGateway } from './gateway.ts';
import { Listener } from './listener.ts';
import type { DiscordOptions } from './options.ts';
import { bodyOf, filesOf, placeOf, sendPart } from './send.ts';
import { Deferrals, menuOf } from './slash-commands.ts';

const MENU_DEADLINE_MS = 30_000;
const GOODBYE_MS = 1_000;

/** A connection to Discord, from start to disposal. */
interface Connection {
  readonly api: DiscordApi;
  readonly listener: Listener;
  readonly deferrals: Deferrals;
  readonly fetch: GuardedFetch;
  readonly context: ChannelContext;
}

/** A Discord bot: hears through the Gateway, speaks through the REST API. */
export class DiscordChannel implements Channel {
  readonly name: string;
  readonly kind = 'discord';
  readonly capabilities = {
    maxLength: 2000,
    edit: true,
    typing: true,
    buttons: true,
    threads: true,
    media: true,
    reactions: true,
    drafts: false,
  };
  readonly settlesResends = true;
  readonly #options: DiscordOptions;
  readonly #random: Random;
  readonly #strangers: UnknownSenders;
  readonly #talk: GroupTalk;
  #connection: Connection | undefined;
  #state: ChannelHealth['state'] = 'stopped';
  #lastInboundAt: number | undefined;
  /** What is wrong with the Gateway, and with reading what it tells. */
  #trouble: { gateway?: string | undefined; reading?: string | undefined } = {};

  constructor(name: string, options: DiscordOptions, random: Random) {
    this.name = name;
    this.#options = options;
    this.#random = random;
    this.#strangers = new UnknownSenders(name);
    this.#talk = new GroupTalk(options.groups);
  }

  async start(context: ChannelContext, signal: AbortSignal): Promise<AsyncDisposable> {
    this.#state = 'starting';
    this.#trouble = {};
    const { token, apiBase } = this.#options;
    const { clock, log } = context;
    const stop = new AbortController();
    const until = AbortSignal.any([signal, stop.signal]);
    await using stack = new AsyncDisposableStack();
    stack.defer(() => {
      this.#state = 'stopped';
    });
    const api = stack.use(openApi({ token, apiBase }));
    const deferrals = new Deferrals(clock);
    const listener = stack.use(this.#listen({ api, deferrals, context }, until));
    stack.defer(() => this.#giveUp(deferrals, { api, listener, context }));
    stack.defer(() => {
      this.#connection = undefined;
      stop.abort();
    });
    const gateway = await openGateway(
      {
        channel: this.name,
        rest: api.rest,
        token,
        hear: (event, data) => listener.hear(event, data),
        report: (trouble) => {
          this.#trouble.gateway = trouble;
        },
        beat: () => {
          this.#lastInboundAt = clock.now();
        },
        fail: (error) => context.fail(error),
        clock,
        log,
      },
      signal,
    );
    stack.use(gateway);
    this.#connection = { api, listener, deferrals, fetch: guardedFetch(apiBase, clock), context };
    this.#state = 'running';
    void this.#showMenu(this.#connection, until);
    return stack.move();
  }

  render(markdown: string): readonly string[] {
    return discordMarkup.render(markdown);
  }

  plain(text: string): readonly string[] {
    return discordMarkup.literal(text);
  }

  async send(part: OutgoingPart, signal: AbortSignal): Promise<{ readonly platformId: string }> {
    const connection = this.#connected();
    try {
      const sent = (await this.#fill(connection, part, signal)) ?? (await this.#post(connection, part, signal));
      this.#noteAnswered(part, connection);
      return { platformId: sent.id };
    } catch (error) {
      throw toSendError(error);
    }
  }

  /** Replaces text and buttons of a message. */
  async edit(part: OutgoingPart & { readonly platformId: string }, signal: AbortSignal): Promise<void> {
    const connection = this.#connected();
    try {
      await connection.api.edit(placeOf(part), part.platformId, bodyOf(part), signal);
    } catch (error) {
      throw toSendError(error);
    }
    this.#noteAnswered(part, connection);
  }

  async typing(chat: { readonly chatId: string; readonly threadId?: string }, signal: AbortSignal): Promise<void> {
    await this.#connected().api.typing(placeOf(chat), signal);
  }

  async react(target: { readonly chatId: string; readonly platformId: string }, emoji: string): Promise<void> {
    await this.#connected().api.react(target.chatId, target.platformId, emoji);
  }

  async download(
    source: string,
    { maxBytes }: { readonly maxBytes: number },
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    return await download(source, this.#connected(), { maxBytes, signal });
  }

  health(): ChannelHealth {
    const detail = this.#trouble.gateway ?? this.#trouble.reading;
    const isLost = this.#state === 'running' && this.#trouble.gateway !== undefined;
    return {
      state: isLost ? 'reconnecting' : this.#state,
      ...(detail === undefined ? {} : { detail }),
      ...(this.#lastInboundAt === undefined ? {} : { lastInboundAt: this.#lastInboundAt }),
    };
  }

  #listen(
    { api, deferrals, context }: Pick<Connection, 'api' | 'deferrals' | 'context'>,
    until: AbortSignal,
  ): Listener {
    return new Listener(
      {
        name: this.name,
        options: this.#options,
        api,
        context,
        talk: this.#talk,
        strangers: this.#strangers,
        deferrals,
        report: (trouble) => {
          this.#trouble.reading = trouble;
        },
        random: this.#random,
      },
      until,
    );
  }

  async #post(
    { api, listener, context }: Connection,
    part: OutgoingPart,
    signal: AbortSignal,
  ): Promise<{ id: string }> {
    return await sendPart(api, part, { me: listener.me, now: context.clock.now(), signal });
  }

  /** Puts a message into the place of the command from the menu that waits for it; undefined: none does. */
  async #fill(
    { api, listener, deferrals }: Connection,
    part: OutgoingPart,
    signal: AbortSignal,
  ): Promise<{ id: string } | undefined> {
    const token = await deferrals.waiting(part);
    if (token === undefined) return undefined;
    try {
      const files = await filesOf(part.media);
      const sent = await api.fill(listener.application, token, bodyOf(part), files, signal);
      deferrals.done(part, token);
      return sent;
    } catch (error) {
      // The token is over: what is to be said is a message like others.
      if (!isRefused(error) && callFailure(error).status !== 401) throw error;
      deferrals.done(part, token);
      return undefined;
    }
  }

  /** What still waits for an answer now will not get it in its place. */
  async #giveUp(
    deferrals: Deferrals,
    { api, listener, context }: Pick<Connection, 'api' | 'listener' | 'context'>,
  ): Promise<void> {
    const tokens = deferrals.takeAll();
    if (tokens.length === 0) return;
    using limit = deadline(context.clock, GOODBYE_MS, 'Taking waiting commands back');
    const { signal } = limit;
    const all = Promise.allSettled(tokens.map((token) => api.unfill(listener.application, token, signal)));
    await raceAbort(all, signal).catch(() => {});
  }

  async #showMenu({ api, listener, context }: Connection, until: AbortSignal): Promise<void> {
    const { commands, clock, log } = context;
    if (commands.length === 0) return;
    using limit = deadline(clock, MENU_DEADLINE_MS, 'Registering commands');
    try {
      await api.register(listener.application, menuOf(commands), AbortSignal.any([until, limit.signal]));
    } catch (error) {
      const failure = callFailure(error);
      if (failure.status === 401) context.fail(tokenRefused(this.name));
      else if (!until.aborted) log.info('commands: menu not set', { reason: failure.reason });
    }
  }

  /** An answer is there: whoever asked may go on without a mention. */
  #noteAnswered(part: OutgoingPart, { context }: Connection): void {
    if (part.kind === 'answer') this.#talk.answered(part, context.clock.now());
  }

  #connected(): Connection {
    if (this.#connection === undefined) throw new SendError('retryable', `channel "${this.name}" is not running`);
    return this.#connection;
  }
}
