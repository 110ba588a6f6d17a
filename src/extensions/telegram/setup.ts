import { Api } from 'grammy/web';
import * as z from 'zod';
import { textIn } from '../../core/api-channels.ts';
import type { Bot, Checked, CodeSender, Platform } from '../../core/api-setup.ts';
import { deadline, sleep } from '../../core/api.ts';
import { callFailure, isTokenRefused } from './errors.ts';
import { forGrammy, openTransport, type GrammySignal } from './transport.ts';

const CALL_MS = 20_000;
const POLL_SECONDS = 20;

const account = z.object({ username: z.string() });
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

/** How `assistant init` sets up a bot on Telegram. */
export const platform: Platform = {
  explain: (person) =>
    person.say(
      'In Telegram write to @BotFather (https://t.me/BotFather), send /newbot, and copy the token that it gives you.',
    ),
  tokens: { token: { title: 'The token', question: 'The bot’s token (it is not shown)', check: askTelegram } },
  code: {
    send: (name, code) =>
      `Open https://t.me/${name.replace('@', '')}?start=${code} and press Start, or send ${code} to ${name}.`,
    sender: codeSender,
    missed: 'No code came within 10 minutes.',
  },
  greet: async (bot, owner, text) => {
    using limit = deadline(bot.clock, CALL_MS, 'The first message');
    await callTelegram(bot, limit.signal, (api, signal) => api.sendMessage({ chat_id: Number(owner), text }, signal));
  },
};

/** Calls the Bot API for one bot, over connections that are closed afterwards. */
export async function callTelegram<T>(
  { settings, clock }: Bot,
  signal: AbortSignal,
  call: (api: Api['raw'], signal: GrammySignal) => Promise<T>,
): Promise<T> {
  using transport = openTransport(clock);
  const apiRoot = textIn(settings, 'apiRoot');
  const options = { ...(apiRoot == null ? {} : { apiRoot }), fetch: transport.call };
  return await call(new Api(String(settings['token']), options).raw, forGrammy(signal));
}

/** Asks Telegram whether a bot token is right, and for the name of the bot. */
async function askTelegram(bot: Bot): Promise<Checked> {
  if (!/^\d+:[\w-]+$/u.test(String(bot.settings['token'])))
    return 'That is no bot token: one looks like 123456789:AAE… and comes from @BotFather.';
  using limit = deadline(bot.clock, CALL_MS, 'Asking Telegram for the bot');
  try {
    const { username } = account.parse(await callTelegram(bot, limit.signal, (api, signal) => api.getMe(signal)));
    return { facts: { name: `@${username}` } };
  } catch (error) {
    const failure = callFailure(error);
    if (isTokenRefused(failure))
      return 'Telegram refused this token. Copy it again from @BotFather (/mybots, API Token).';
    return { offline: `${failure.reason}.` };
  }
}

/** Who sent the code in a direct chat. Reads, and so confirms, what was sent to the bot before. */
async function codeSender(
  bot: Bot,
  isCode: (text: string | undefined) => boolean,
  either: AbortSignal,
): Promise<CodeSender | string> {
  return await callTelegram(bot, either, async (api, signal) => {
    let offset: number | undefined;
    for (;;) {
      try {
        const query = { timeout: POLL_SECONDS, allowed_updates: ['message'] as const };
        const batch = updates.parse(await api.getUpdates({ ...query, offset }, signal));
        for (const { update_id: id, message } of batch) {
          offset = id + 1;
          if (message?.chat.type !== 'private' || message.from.is_bot || !isCode(message.text)) continue;
          // The assistant does not read the code as a message.
          await api.getUpdates({ offset, timeout: 0, limit: 1 }, signal);
          return { id: String(message.from.id), name: message.from.first_name };
        }
      } catch (error) {
        if (either.aborted) throw error;
        const { code: status, reason } = callFailure(error);
        if (status === 409)
          return 'Another program reads this bot’s messages: stop the running assistant, then run this again.';
        if (status === 401) return reason;
        await sleep(bot.clock, 2_000, either).catch(() => {});
      }
    }
  });
}
