import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { packageFile, type Bot, type Checked, type CodeSender, type Platform } from '../../core/api-setup.ts';
import { raceAbort } from '../../core/api.ts';
import { callFailure, isTokenRefused } from './errors.ts';
import { openSocket, type Envelope } from './socket.ts';
import { openSlackClient } from './web-client.ts';

/** How `assistant init` sets up an app in Slack: by the manifest to paste, and with two tokens. */
export const platform: Platform = {
  explain: async (person) => {
    person.say('At https://api.slack.com/apps choose Create New App, From a manifest, your workspace, and paste this:');
    person.plain(await manifest());
    person.say(
      'Then Install App and copy the Bot User OAuth Token; and under Basic Information, App-Level Tokens, generate one with the scope connections:write.',
    );
  },
  tokens: {
    botToken: {
      title: 'The bot token',
      question: 'The bot token, xoxb-… (it is not shown)',
      check: async (bot) =>
        await askSlack(
          bot,
          { key: 'botToken', prefix: 'xoxb-' },
          async (client) => (await client.auth.test()).user ?? 'the bot',
        ),
    },
    appToken: {
      title: 'The app-level token',
      question: 'The app-level token, xapp-… (it is not shown)',
      check: async (bot) =>
        await askSlack(bot, { key: 'appToken', prefix: 'xapp-' }, async (client) => {
          await client.apps.connections.open();
          return '';
        }),
    },
  },
  code: {
    send: (name, code) => `In Slack open ${name} under Apps and send it ${code}.`,
    sender: codeSender,
    missed: 'No code came from Slack.',
  },
  idQuestion: 'Your member id (your profile in Slack, ⋮, Copy member ID)',
  greet: async ({ settings }, owner, words) => {
    const client = openSlackClient({ botToken: String(settings['botToken']), apiUrl: apiUrlOf(settings) });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- Slack's method, not a window's
    await client.chat.postMessage({ channel: owner, text: words });
  },
};

/** The manifest of docs/slack.md, which comes with the package. */
async function manifest(): Promise<string> {
  const page = packageFile('docs/slack.md');
  const text = page === undefined ? '' : await readFile(page, 'utf8');
  const found = /^ {3}```yaml\n(?<yaml>[\s\S]*?)^ {3}```$/mu.exec(text)?.groups?.['yaml'];
  return found?.replaceAll(/^ {3}/gmu, '') ?? '(the manifest is in docs/slack.md)';
}

const directMessage = z.object({
  event: z.object({
    type: z.literal('message'),
    channel_type: z.literal('im'),
    user: z.string(),
    text: z.string(),
    bot_id: z.undefined().optional(),
  }),
});

/** The person who sent the code in a direct chat. */
async function codeSender(
  { settings, clock }: Bot,
  isCode: (text: string | undefined) => boolean,
  signal: AbortSignal,
): Promise<CodeSender> {
  const sender = Promise.withResolvers<CodeSender>();
  const onEnvelope = ({ body, ack }: Envelope): void => {
    const event = directMessage.safeParse(body).data?.event;
    void ack().then(
      () => event !== undefined && isCode(event.text) && sender.resolve({ id: event.user, name: '' }),
      () => {},
    );
  };
  const options = { appToken: String(settings['appToken']), apiUrl: apiUrlOf(settings) };
  const socket = await openSocket({ options, onEnvelope, clock }, signal);
  socket.release();
  try {
    void socket.ended.then(() => sender.reject(new Error('Slack closed the connection')));
    return await raceAbort(sender.promise, signal);
  } finally {
    await socket.close();
  }
}

/** The address of the Web API with the slash at its end that the SDK needs. */
function apiUrlOf({ apiUrl }: Bot['settings']): string | null {
  return typeof apiUrl === 'string' ? `${apiUrl.replace(/\/+$/u, '')}/` : null;
}

/** Tries a token with Slack. `call` returns the name that Slack has for it. */
async function askSlack(
  { settings }: Bot,
  { key, prefix }: { readonly key: string; readonly prefix: string },
  call: (client: ReturnType<typeof openSlackClient>) => Promise<string>,
): Promise<Checked> {
  const token = String(settings[key]);
  if (!token.startsWith(prefix)) {
    const other =
      { 'xapp-': 'That is the app-level token. ', 'xoxb-': 'That is the bot token. ' }[token.slice(0, 5)] ?? '';
    return `${other}The one asked for begins with ${prefix}.`;
  }
  if (!/^[\w-]+$/u.test(token)) return 'This token has signs in it that no token of Slack has. Copy it again.';
  try {
    return { facts: { name: await call(openSlackClient({ botToken: token, apiUrl: apiUrlOf(settings) })) } };
  } catch (error) {
    const failure = callFailure(error);
    if (isTokenRefused(failure)) return 'Slack refused this token. Copy it again from the page of your app.';
    return failure.code === undefined ? { offline: `${failure.reason}.` } : `${failure.reason}.`;
  }
}
