import * as z from 'zod';
import {
  Cancelled,
  channelError,
  type Checked,
  chooseToken,
  ownerSettings,
  type ReadyChannel,
  type SetupWorld,
} from '../../core/api-setup.ts';
import type { ChannelSettings } from '../../core/api-channels.ts';
import { deadline, sleep } from '../../core/api.ts';
import { textIn } from '../../core/api-channels.ts';
import { openApi } from './api.ts';
import { callFailure } from './errors.ts';

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

/** How long the person may take to add the bot to a server, and how often it is looked whether it is in one. */
const INVITED_MS = 600_000;
const LOOK_MS = 1_500;

/**
 * Sets a bot on Discord up: token, intent, its owner, who is the one that made the application, and the invitation. Null: it
 * was left out.
 */
export async function setUpDiscord(
  world: SetupWorld,
  before: ChannelSettings | undefined,
  given: { readonly tokenEnv: string | undefined; readonly owner: string | undefined },
): Promise<ReadyChannel | null> {
  const { person, tell } = world;
  if (given.owner !== undefined && !isId(given.owner)) {
    throw channelError('discord', 'An id on Discord is a long number, never a name.');
  }
  if (person !== null && typeof before?.['token'] !== 'string') {
    tell.say(
      'At https://discord.com/developers/applications make an application. On its page Bot switch on Message Content Intent, then press Reset Token and copy the token.',
    );
  }
  const apiBase = textIn(before, 'apiBase');
  const token = await chooseToken(world, {
    channel: 'discord',
    key: 'token',
    variable: 'DISCORD_BOT_TOKEN',
    flag: '--discord-token-env',
    given: given.tokenEnv,
    question: 'The bot’s token (it is not shown)',
    before,
    check: (value) => askDiscord(value, apiBase),
  });
  if (token === null) return null;
  let app = token.facts;
  tell.good(`The token is right: ${app.name === '' ? app.id : app.name}.`);
  while (!mayReadMessages(app)) {
    tell.bad('Message Content Intent is off: switch it on on the page Bot of the application, and save.');
    if (person === null || !(await person.agree('Is it on now?'))) break;
    const again = await askDiscord(token.value, apiBase);
    if (typeof again !== 'string' && 'facts' in again) app = again.facts;
  }
  const link = `https://discord.com/oauth2/authorize?client_id=${app.id}&scope=bot+applications.commands&permissions=${PERMISSIONS}`;
  const owner = given.owner ?? before?.owners[0] ?? (await chooseOwner(world, app));
  await invited(world, { token: token.value, apiBase, link });
  const written = token.setting === null ? [] : [token.setting];
  return {
    settings: [...written, ...(owner === null ? [] : ownerSettings('discord', before, owner))],
    greet: async (words) => owner !== null && (await say(token.value, apiBase, { owner, words })),
  };
}

/** Shows the link that adds the bot to a server, and with a person waits until it is in one: it can write to no one before. */
async function invited(
  { person, tell, clock, signal }: SetupWorld,
  {
    token,
    apiBase,
    link,
  }: { readonly token: string; readonly apiBase: string | null | undefined; readonly link: string },
): Promise<void> {
  using api = openApi({ token, apiBase });
  const isIn = async (): Promise<boolean> => {
    const servers = await api.rest.get('/users/@me/guilds').catch(() => []);
    return Array.isArray(servers) && servers.length > 0;
  };
  if (await isIn()) return;
  tell.say(`Open this link and choose your server, so that the bot can write to you:\n${link}`);
  if (person === null) return;
  tell.say('Waiting until the bot is in your server, at most 10 minutes; Ctrl-C stops.');
  using limit = deadline(clock, INVITED_MS, 'The invitation');
  const either = AbortSignal.any([limit.signal, signal]);
  while (!either.aborted) {
    await sleep(clock, LOOK_MS, either).catch(() => {});
    if (signal.aborted) throw new Cancelled();
    if (await isIn()) {
      tell.good('The bot is in your server.');
      return;
    }
  }
  tell.say('The bot is in no server yet. Open the link later.');
}

async function chooseOwner({ person, tell }: SetupWorld, { owner, team }: Application): Promise<string | null> {
  const id = team?.owner_user_id ?? owner?.id;
  if (person === null) {
    tell.say('No one is owner on Discord yet: give --discord-owner ID, or run this in a terminal.');
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

/** Asks Discord whether a bot token is right, and for its application. */
export async function askDiscord(token: string, apiBase: string | null | undefined): Promise<Checked<Application>> {
  if (!/^[\w.-]+$/u.test(token)) return 'That is no bot token: it has letters, digits, dots and dashes only.';
  using api = openApi({ token, apiBase });
  try {
    return { facts: application.parse(await api.rest.get('/applications/@me')) };
  } catch (error) {
    const { status, reason } = callFailure(error);
    if (status === 401) return 'Discord refused this token. Press Reset Token on the page Bot and copy the new one.';
    return { offline: `${reason}.` };
  }
}

/** Whether the application has the Message Content Intent. */
export function mayReadMessages({ flags }: Pick<Application, 'flags'>): boolean {
  return (flags & READS_MESSAGES) !== 0;
}

async function say(
  token: string,
  apiBase: string | null | undefined,
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
