import { Api } from 'grammy/web';
import * as z from 'zod';
import { textIn, type ChannelSettings } from '../../core/api-channels.ts';
import {
  Cancelled,
  type ReadyChannel,
  type SetupWorld,
  channelError,
  chooseToken,
  ownerSettings,
  type Checked,
  DeadlineError,
  CODE_MS,
  isCode,
  newCode,
} from '../../core/api-setup.ts';
import { deadline, sleep, type Clock } from '../../core/api.ts';
import { callFailure, isTokenRefused } from './errors.ts';
import { forGrammy, openTransport, type Transport } from './transport.ts';

const CALL_MS = 20_000;
const POLL_SECONDS = 20;

const bot = z.object({ username: z.string() });
const updates = z.array(
  z.looseObject({
    update_id: z.int(),
    message: z
      .looseObject({
        text: z.string().optional(),
        chat: z.looseObject({ type: z.string() }),
        from: z.looseObject({ id: z.int(), first_name: z.string().default(''), is_bot: z.boolean().default(false) }),
      })
      .optional()
      .catch(undefined),
  }),
);

/** Sets a bot on Telegram up: its token, and its owner by a code that the person sends to it. Null: it was left out, or no code came. */
export async function setUpTelegram(
  world: SetupWorld,
  before: ChannelSettings | undefined,
  given: { readonly tokenEnv: string | undefined; readonly owner: string | undefined },
): Promise<ReadyChannel | null> {
  const { person, tell, clock } = world;
  if (given.owner !== undefined && !/^\d+$/u.test(given.owner)) {
    throw channelError('telegram', 'An id on Telegram is a number, never a name.');
  }
  using transport = openTransport(clock);
  const open = (token: string, by: Transport): Api => openBot(token, textIn(before, 'apiRoot'), by);
  const apiFor = (token: string): Api => open(token, transport);
  const known = typeof before?.token === 'string' || world.env['TELEGRAM_BOT_TOKEN'] !== undefined;
  if (person !== null && !known) {
    tell.say(
      'In Telegram write to @BotFather (https://t.me/BotFather), send /newbot, and copy the token that it gives you.',
    );
  }
  const token = await chooseToken(world, {
    channel: 'telegram',
    key: 'token',
    variable: 'TELEGRAM_BOT_TOKEN',
    flag: '--telegram-token-env',
    given: given.tokenEnv,
    question: 'The bot’s token (it is not shown)',
    before,
    check: (value) => askTelegram(apiFor, value, clock),
  });
  if (token === null) return null;
  const api = apiFor(token.value);
  const { username } = token.facts;
  tell.good(`The token is right: @${username}.`);
  const written = token.setting === null ? [] : [token.setting];
  const greet = (id: string) => async (words: string) => {
    using later = openTransport(clock);
    return await say(open(token.value, later), clock, { chat_id: Number(id), text: words });
  };
  const [owner = before?.owners[0] ?? before?.allowFrom[0]] = given.owner === undefined ? [] : [given.owner];
  if (owner !== undefined && owner !== '*') {
    return { settings: [...written, ...ownerSettings('telegram', before, owner)], greet: greet(owner) };
  }
  if (person === null) {
    tell.say('No one is owner on Telegram yet: give --telegram-owner ID, or run this in a terminal.');
    return { settings: written, greet: async () => false };
  }
  const code = newCode();
  tell.say(
    `Open https://t.me/${username}?start=${code} and press Start, or send ${code} to @${username}. That makes you its owner. Waiting for 10 minutes; Ctrl-C stops.`,
  );
  const sender = await codeSender(world, api, code);
  if (typeof sender === 'string') {
    tell.bad(sender);
    return null;
  }
  tell.good(`${sender.name === '' ? 'You are' : `${sender.name}, you are`} the owner on Telegram (id ${sender.id}).`);
  const settings = [...written, ...ownerSettings('telegram', before, sender.id)];
  return { settings, greet: greet(sender.id) };
}

/** The Bot API for one bot. `apiRoot`: another server of it. */
export function openBot(token: string, apiRoot: string | null | undefined, { call }: Transport): Api {
  return new Api(token, { ...(apiRoot == null ? {} : { apiRoot }), fetch: call });
}

/** Asks Telegram whether a bot token is right, and for the name of the bot. */
export async function askTelegram(
  apiFor: (token: string) => Api,
  token: string,
  clock: Clock,
): Promise<Checked<z.output<typeof bot>>> {
  if (!/^\d+:[\w-]+$/u.test(token))
    return 'That is no bot token: one looks like 123456789:AAE… and comes from @BotFather.';
  using limit = deadline(clock, CALL_MS, 'Asking Telegram for the bot');
  try {
    return { facts: bot.parse(await apiFor(token).raw.getMe(forGrammy(limit.signal))) };
  } catch (error) {
    const failure = callFailure(error);
    if (isTokenRefused(failure))
      return 'Telegram refused this token. Copy it again from @BotFather (/mybots, API Token).';
    return { offline: `${failure.reason}.` };
  }
}

/** Who sent the code in a direct chat; a string is why no one did. Reads, and so confirms, what was sent to the bot before. */
async function codeSender(
  { clock, signal }: SetupWorld,
  api: Api,
  code: string,
): Promise<{ readonly id: string; readonly name: string } | string> {
  using limit = deadline(clock, CODE_MS, 'The code');
  const either = AbortSignal.any([limit.signal, signal]);
  let offset: number | undefined;
  for (;;) {
    try {
      const query = { timeout: POLL_SECONDS, allowed_updates: ['message'] as const };
      const batch = updates.parse(
        await api.raw.getUpdates({ ...query, ...(offset === undefined ? {} : { offset }) }, forGrammy(either)),
      );
      for (const { update_id: id, message } of batch) {
        offset = id + 1;
        if (message?.chat.type !== 'private' || message.from.is_bot) continue;
        if (!isCode(message.text, code)) continue;
        // The assistant does not read the code as a message.
        await api.raw.getUpdates({ offset, timeout: 0, limit: 1 }, forGrammy(either));
        return { id: String(message.from.id), name: message.from.first_name };
      }
    } catch (error) {
      if (signal.aborted) throw new Cancelled();
      if (limit.signal.aborted || error instanceof DeadlineError) return 'No code came within 10 minutes.';
      const { code: status, reason } = callFailure(error);
      if (status === 409)
        return 'Another program reads this bot’s messages: stop the running assistant, then run this again.';
      if (status === 401) return reason;
      await sleep(clock, 2_000, either).catch(() => {});
    }
  }
}

async function say(
  api: Api,
  clock: Clock,
  message: { readonly chat_id: number; readonly text: string },
): Promise<boolean> {
  using limit = deadline(clock, CALL_MS, 'The first message');
  try {
    await api.raw.sendMessage(message, forGrammy(limit.signal));
    return true;
  } catch {
    return false;
  }
}
