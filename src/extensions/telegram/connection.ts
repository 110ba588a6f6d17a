import { Api } from 'grammy/web';
import {
  ChannelError,
  type ChannelContext,
  type ReactionDraft,
  unknownShape,
  receive,
  type Received,
  type Link,
  type Stranger,
  emojisOf,
} from '../../core/api-channels.ts';
import { deadline, type Logger } from '../../core/api.ts';
import { callFailure, isTokenRefused, tokenRefused } from './errors.ts';
import { readUpdate } from './inbound.ts';
import { showMenu } from './menu.ts';
import { MovedChats } from './moved-chats.ts';
import type { TelegramOptions } from './options.ts';
import { pollUpdates } from './poll.ts';
import { readReactions, refusedEmoji } from './reactions.ts';
import { forGrammy, openTransport, type Transport } from './transport.ts';
import { botAccount, chatOf, updateBody, type BotAccount } from './update.ts';

const PRESS_DEADLINE_MS = 10_000;
/** In groups Telegram tells only administrators of reactions. */
const UPDATES = ['message', 'edited_message', 'callback_query', 'message_reaction'] as const;

/** A connection to the Bot API. */
export interface TelegramConnection extends AsyncDisposable {
  readonly api: Api;
  readonly transport: Transport;
  readonly log: Logger;
}

/**
 * Asks Telegram for the bot's account and begins to poll. Throws a `ChannelError` when it does not answer or refuses
 * the token.
 */
export async function connect(options: TelegramOptions, link: Link): Promise<TelegramConnection> {
  const { name, context, signal } = link;
  const { clock, log, commands } = context;
  await using stack = new AsyncDisposableStack();
  const transport = stack.use(openTransport(clock, context.permit));
  const { token, apiRoot, owners, allowFrom } = options;
  const api = new Api(token, { ...(apiRoot == null ? {} : { apiRoot }), fetch: transport.call });
  const me = await hello(api, link);
  if (options.groups.policy === 'open' && !me.can_read_all_group_messages) {
    // In privacy mode Telegram sends a bot only messages that address it, so the policy `open` has no effect.
    log.warn(
      `telegram: channels.${name}.groups.policy is "open", but Telegram sends this bot only messages that address it: switch its privacy mode off at @BotFather (/setprivacy), then add it to the group again.`,
    );
  }
  const refused = refusedEmoji(emojisOf(options.reactions));
  if (refused.length > 0) {
    link.report(
      'reactions',
      `Telegram does not let bots react with ${refused.join(' ')}: choose others in channels.${name}.reactions.`,
      'running',
    );
  }
  const chats = new MovedChats(name, context);
  api.config.use(chats.transform);
  const polling = poll(api, { options, me, link, chats });
  stack.defer(() => polling);
  const menu = { commands, owners: owners.length > 0 ? owners : allowFrom, log };
  if (commands.length > 0) void showMenu(api, menu, forGrammy(signal));
  const open = stack.move();
  return { api, transport, log, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

async function hello(api: Api, { name, signal }: Link): Promise<BotAccount> {
  try {
    return botAccount.parse(await api.raw.getMe(forGrammy(signal)));
  } catch (error) {
    const failure = callFailure(error);
    throw isTokenRefused(failure) ? tokenRefused(name) : new ChannelError(failure.reason, { retry: true });
  }
}

interface Polling {
  readonly options: TelegramOptions;
  readonly me: BotAccount;
  readonly link: Link;
  readonly chats: MovedChats;
}

async function poll(api: Api, polling: Polling): Promise<void> {
  const { name, context, random, signal, heard, report } = polling.link;
  const { clock, log } = context;
  const ended = await pollUpdates(
    {
      getUpdates: (query, cut) => api.raw.getUpdates({ ...query, allowed_updates: [...UPDATES] }, forGrammy(cut)),
      take: (updates) => take(api, updates, polling),
      report: (trouble, code) => {
        if (trouble === undefined) heard();
        report('connection', trouble, 'reconnecting', code);
      },
      tellConflict: (sentence) =>
        void context.tellOwner(`conflict:${clock.now()}`, `Messages on ${name} may not reach me. ${sentence}`),
      clock,
      log,
      random,
    },
    signal,
  );
  if (ended === 'token-refused') context.fail(tokenRefused(name));
}

/** Reads a batch of updates and writes their messages in one transaction, their reactions before it. Rejects only when the channel stops. */
async function take(api: Api, updates: readonly unknown[], { options, me, link, chats }: Polling): Promise<void> {
  const { name, context, gate, signal } = link;
  const { allowFrom, owners, groups } = options;
  const access = { allowFrom, owners, groups };
  await context.settled?.(signal);
  const { pairedRole } = context;
  const reading = { channel: name, me, access, pairedRole, now: context.clock.now() };
  const received: Received[] = [];
  const strangers = new Map<string, Stranger>();
  const reactions: ReactionDraft[] = [];
  const pressed: string[] = [];
  for (const update of updates) {
    const { data, error } = updateBody.safeParse(update);
    const body = data === undefined ? undefined : await chats.read(data);
    const one = receive(
      update,
      () => {
        if (body === undefined) throw unknownShape(error);
        const { draft, stranger } = gate.take(readUpdate(body, reading), context);
        if (stranger !== null) strangers.set(stranger.senderId, stranger);
        if (body.callback_query !== undefined) pressed.push(body.callback_query.id);
        reactions.push(...readReactions(body.message_reaction, reading));
        return draft;
      },
      chatOf(update),
    );
    if (one !== null) received.push(one);
  }
  // First, so that the turn of a message of this batch knows them.
  await context.reacted(reactions, signal);
  await context.write(received, { signal });
  await Promise.all([...strangers.values()].map((stranger) => context.requestPairing(stranger)));
  for (const id of pressed) void confirmPress(api, id, context);
}

/** Ends the button's loading animation. The result of the press is a message in the chat. Never rejects. */
async function confirmPress(api: Api, id: string, { clock, log }: ChannelContext): Promise<void> {
  using limit = deadline(clock, PRESS_DEADLINE_MS, 'Confirming a pressed button');
  try {
    await api.raw.answerCallbackQuery({ callback_query_id: id }, forGrammy(limit.signal));
  } catch (error) {
    log.debug('telegram: answerCallbackQuery failed', { reason: callFailure(error).reason });
  }
}
