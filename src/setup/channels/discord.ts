import * as z from 'zod';
import { openApi } from '../../channels/discord/api.ts';
import { callFailure } from '../../channels/discord/errors.ts';
import type { ChannelSettings } from '../../config/schema/channels.ts';
import type { SetupWorld } from '../world.ts';
import type { ReadyChannel } from './telegram.ts';
import { channelError, chooseToken, ownerSettings } from './token.ts';

const application = z.looseObject({
  id: z.string().regex(/^\d+$/u),
  name: z.string().default(''),
  flags: z.int().default(0),
  owner: z.looseObject({ id: z.string(), username: z.string().default('') }).optional(),
  team: z.looseObject({ owner_user_id: z.string() }).nullish(),
});

type Application = z.output<typeof application>;

/** Message Content Intent, for bots in many servers and in few. */
const READS_MESSAGES = (1 << 18) | (1 << 19);
/** View Channels, Send Messages, Attach Files, Read Message History, Send Messages in Threads. */
const PERMISSIONS = [10n, 11n, 15n, 16n, 38n].reduce((sum, bit) => sum | (1n << bit), 0n);

/** Sets a bot on Discord up: token, intent, invitation, and its owner, who is the one that made the application. */
export async function setUpDiscord(
  world: SetupWorld,
  before: ChannelSettings | undefined,
  given: { readonly tokenEnv: string | undefined; readonly owner: string | undefined },
): Promise<ReadyChannel> {
  const { person, tell } = world;
  if (given.owner !== undefined && !isId(given.owner)) {
    throw channelError('discord', 'An id on Discord is a long number, never a name.');
  }
  if (person !== null && typeof before?.['token'] !== 'string') {
    tell.say(
      'At https://discord.com/developers/applications make an application. On its page Bot switch on Message Content Intent, then press Reset Token and copy the token.',
    );
  }
  const apiBase = before?.apiBase;
  const token = await chooseToken(world, {
    channel: 'discord',
    key: 'token',
    variable: 'DISCORD_BOT_TOKEN',
    given: given.tokenEnv,
    question: 'The bot’s token (it is not shown)',
    before,
    check: (value) => ask(value, apiBase),
  });
  let app = token.facts;
  tell.good(`The token is right: ${app.name === '' ? app.id : app.name}.`);
  while ((app.flags & READS_MESSAGES) === 0) {
    tell.bad('Message Content Intent is off: switch it on on the page Bot of the application, and save.');
    if (person === null || !(await person.agree('Is it on now?'))) break;
    const again = await ask(token.value, apiBase);
    if (typeof again !== 'string') app = again.facts;
  }
  const link = `https://discord.com/oauth2/authorize?client_id=${app.id}&scope=bot+applications.commands&permissions=${PERMISSIONS}`;
  tell.say(`Open this link and choose your server, so that the bot can write to you:\n${link}`);
  const owner = given.owner ?? before?.owners[0] ?? (await chooseOwner(world, app));
  if (person !== null) await person.agree('Is the bot in your server?');
  const written = token.setting === null ? [] : [token.setting];
  return {
    settings: [...written, ...(owner === null ? [] : ownerSettings('discord', before, owner))],
    greet: async (words) => owner !== null && (await say(token.value, apiBase, { owner, words })),
  };
}

async function chooseOwner({ person, tell }: SetupWorld, { owner, team }: Application): Promise<string | null> {
  const id = team?.owner_user_id ?? owner?.id;
  if (person === null) {
    tell.say('Nobody is owner on Discord yet: give --discord-owner ID, or run this in a terminal.');
    return null;
  }
  const name = team == null && owner !== undefined && owner.username !== '' ? `${owner.username} (${id})` : id;
  if (id !== undefined && (await person.agree(`Are you ${name}? Then you are its owner there.`))) return id;
  return person.text('Your id (Developer Mode in your settings, then Copy User ID on your name)', '', (answer) =>
    isId(answer) ? undefined : 'An id on Discord is a long number, never a name.',
  );
}

function isId(text: string): boolean {
  return /^\d{15,21}$/u.test(text);
}

async function ask(
  token: string,
  apiBase: ChannelSettings['apiBase'],
): Promise<{ readonly facts: Application } | string> {
  if (!/^[\w.-]+$/u.test(token)) return 'That is no bot token: it has letters, digits, dots and dashes only.';
  using api = openApi({ token, apiBase });
  try {
    return { facts: application.parse(await api.rest.get('/applications/@me')) };
  } catch (error) {
    const { status, reason } = callFailure(error);
    if (status === 401) return 'Discord refused this token. Press Reset Token on the page Bot and copy the new one.';
    return `${reason}. Check the network.`;
  }
}

async function say(
  token: string,
  apiBase: ChannelSettings['apiBase'],
  { owner, words }: { readonly owner: string; readonly words: string },
): Promise<boolean> {
  using api = openApi({ token, apiBase });
  try {
    const chat = z
      .object({ id: z.string() })
      .parse(await api.rest.post('/users/@me/channels', { body: { recipient_id: owner } }));
    await api.rest.post(`/channels/${chat.id}/messages`, { body: { content: words } });
    return true;
  } catch {
    return false;
  }
}
