import * as z from 'zod';
import type { Bot, BotFacts, Checked, Platform } from '../../core/api-setup.ts';
import { textIn } from '../../core/api-channels.ts';
import { openApi, type DiscordApi } from './api.ts';
import { callFailure } from './errors.ts';

const application = z.looseObject({
  id: z.string().regex(/^\d+$/u),
  name: z.string().default(''),
  flags: z.int().default(0),
  owner: z.looseObject({ id: z.string(), username: z.string().default('') }).optional(),
  team: z.looseObject({ owner_user_id: z.string() }).nullish(),
});

/** Message Content Intent, for bots in many servers and in few. */
const READS_MESSAGES = (1 << 18) | (1 << 19);
const INTENT_OFF = 'Message Content Intent is off: switch it on on the page Bot of the application, and save.';
/** View Channels, Send Messages, Attach Files, Read Message History, Send Messages in Threads. */
const PERMISSIONS = [10n, 11n, 15n, 16n, 38n].reduce((sum, bit) => sum | (1n << bit), 0n);

/** How `assistant init` sets up a bot on Discord. */
export const platform: Platform = {
  explain: (person) =>
    person.say(
      'At https://discord.com/developers/applications make an application. On its page Bot switch on Message Content Intent, then press Reset Token and copy the token.',
    ),
  tokens: { token: { title: 'The token', question: 'The bot’s token (it is not shown)', check: askDiscord } },
  idQuestion: 'Your id (Developer Mode in your settings, then Copy User ID on your name)',
  isInvited: async (bot) => {
    using api = apiOf(bot);
    const servers = await api.rest.get('/users/@me/guilds').catch(() => []);
    return Array.isArray(servers) && servers.length > 0;
  },
  greet: async (bot, owner, words) => {
    using api = apiOf(bot);
    const opened = await api.rest.post('/users/@me/channels', { body: { recipient_id: owner } });
    const chat = z.object({ id: z.string() }).parse(opened);
    await api.rest.post(`/channels/${chat.id}/messages`, { body: { content: words } });
  },
};

function apiOf({ settings }: Bot): DiscordApi {
  return openApi({ token: String(settings['token']), apiBase: textIn(settings, 'apiBase') });
}

/** Asks Discord whether a bot token is right, and for its application. */
export async function askDiscord(bot: Bot): Promise<Checked<BotFacts & { readonly application: string }>> {
  if (!/^[\w.-]+$/u.test(String(bot.settings['token'])))
    return 'That is no bot token: it has letters, digits, dots and dashes only.';
  using api = apiOf(bot);
  try {
    const { id, name, flags, owner, team } = application.parse(await api.rest.get('/applications/@me'));
    const maker = team?.owner_user_id ?? owner?.id;
    const title = team == null && owner !== undefined && owner.username !== '' ? `${owner.username} (${maker})` : maker;
    const facts = {
      application: id,
      name: name === '' ? id : name,
      missing: (flags & READS_MESSAGES) === 0 ? INTENT_OFF : undefined,
      maker: maker === undefined ? undefined : { id: maker, name: title ?? maker },
      invitation: `https://discord.com/oauth2/authorize?client_id=${id}&scope=bot+applications.commands&permissions=${PERMISSIONS}`,
    };
    return { facts };
  } catch (error) {
    const { status, reason } = callFailure(error);
    if (status === 401) return 'Discord refused this token. Press Reset Token on the page Bot and copy the new one.';
    return { offline: `${reason}.` };
  }
}
