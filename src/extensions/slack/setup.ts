import { tokenFinding, type Found, type Scene } from '../../core/api-doctor.ts';
import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import type { ChannelSettings } from '../../core/api-channels.ts';
import {
  Cancelled,
  type SetupWorld,
  type ReadyChannel,
  channelError,
  chooseToken,
  ownerSettings,
  type Checked,
  packageFile,
  CODE_MS,
  isCode,
  newCode,
} from '../../core/api-setup.ts';
import { deadline, raceAbort } from '../../core/api.ts';
import { callFailure, isTokenRefused } from './errors.ts';
import { openSocket, type Envelope } from './socket.ts';
import { openSlackClient } from './web-client.ts';

/** Sets up an app in Slack: shows the manifest to paste, asks for both tokens, and finds the owner by a code that they send to the bot. Null: the person skipped it. */
export async function setUpSlack(
  world: SetupWorld,
  before: ChannelSettings | undefined,
  given: {
    readonly botTokenEnv: string | undefined;
    readonly appTokenEnv: string | undefined;
    readonly owner: string | undefined;
  },
): Promise<ReadyChannel | null> {
  const { person, tell } = world;
  if (given.owner !== undefined && !isMember(given.owner)) {
    throw channelError('slack', 'A member id in Slack looks like U0123456789.');
  }
  if (person !== null && typeof before?.['botToken'] !== 'string') {
    tell.say('At https://api.slack.com/apps choose Create New App, From a manifest, your workspace, and paste this:');
    person.plain(await manifest());
    tell.say(
      'Then Install App and copy the Bot User OAuth Token; and under Basic Information, App-Level Tokens, generate one with the scope connections:write.',
    );
  }
  const common = { channel: 'slack', before } as const;
  const bot = await chooseToken(world, {
    ...common,
    key: 'botToken',
    variable: 'SLACK_BOT_TOKEN',
    flag: '--slack-bot-token-env',
    given: given.botTokenEnv,
    question: 'The bot token, xoxb-… (it is not shown)',
    check: (token) => askSlack(token, before, 'xoxb-'),
  });
  if (bot === null) return null;
  tell.good(`The bot token is right: ${bot.facts}.`);
  const app = await chooseToken(world, {
    ...common,
    key: 'appToken',
    variable: 'SLACK_APP_TOKEN',
    flag: '--slack-app-token-env',
    given: given.appTokenEnv,
    question: 'The app-level token, xapp-… (it is not shown)',
    check: (token) => askSlack(token, before, 'xapp-'),
  });
  if (app === null) return null;
  tell.good('The app-level token is right.');
  const owner =
    given.owner ??
    before?.owners[0] ??
    (await chooseOwner(world, { bot: bot.facts, appToken: app.value, apiUrl: apiUrlOf(before) }));
  const written = [bot.setting, app.setting].filter((setting) => setting !== null);
  return {
    settings: [...written, ...(owner === null ? [] : ownerSettings('slack', before, owner))],
    greet: async (words) => {
      if (owner === null) return false;
      const client = openSlackClient({ botToken: bot.value, apiUrl: apiUrlOf(before) });
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- Slack's method, not a window's
      return await client.chat.postMessage({ channel: owner, text: words }).then(
        () => true,
        () => false,
      );
    },
  };
}

/** The manifest of docs/slack.md, which comes with the package. */
async function manifest(): Promise<string> {
  const page = packageFile('docs/slack.md');
  const text = page === undefined ? '' : await readFile(page, 'utf8');
  const found = /^ {3}```yaml\n(?<yaml>[\s\S]*?)^ {3}```$/mu.exec(text)?.groups?.['yaml'];
  return found?.replaceAll(/^ {3}/gmu, '') ?? '(the manifest is in docs/slack.md)';
}

interface App {
  /** The bot's name. */
  readonly bot: string;
  readonly appToken: string;
  readonly apiUrl: string | null;
}

/** The owner: the sender of a code or, if none arrives, the member id that the person types. Null: there is no terminal to ask in. */
async function chooseOwner(world: SetupWorld, app: App): Promise<string | null> {
  const { person, tell } = world;
  if (person === null) {
    tell.say('No one is owner in Slack yet: give --slack-owner ID, or run this in a terminal.');
    return null;
  }
  const code = newCode();
  tell.say(
    `In Slack open ${app.bot} under Apps and send it ${code}. That makes you its owner. Waiting for 10 minutes; Ctrl-C stops.`,
  );
  const sender = await codeSender(world, app, code);
  if (sender !== null) {
    tell.good(`You are the owner in Slack (id ${sender}).`);
    return sender;
  }
  tell.bad('No code came from Slack.');
  return person.text('Your member id (your profile in Slack, ⋮, Copy member ID)', '', (answer) =>
    isMember(answer) ? undefined : 'A member id looks like U0123456789.',
  );
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

/** Member id of the person who sent the code in a direct chat; null: it did not arrive in time. Throws `Cancelled` at Ctrl-C. */
async function codeSender(
  { clock, signal }: SetupWorld,
  { appToken, apiUrl }: App,
  code: string,
): Promise<string | null> {
  using limit = deadline(clock, CODE_MS, 'The code');
  const either = AbortSignal.any([limit.signal, signal]);
  const sender = Promise.withResolvers<string>();
  const onEnvelope = ({ body, ack }: Envelope): void => {
    const event = directMessage.safeParse(body).data?.event;
    void ack().then(
      () => isCode(event?.text, code) && event !== undefined && sender.resolve(event.user),
      () => {},
    );
  };
  try {
    const socket = await openSocket({ options: { appToken, apiUrl }, onEnvelope, clock }, either);
    socket.release();
    try {
      void socket.ended.then(() => sender.reject(new Error('Slack closed the connection')));
      return await raceAbort(sender.promise, either);
    } finally {
      await socket.close();
    }
  } catch {
    if (signal.aborted) throw new Cancelled();
    return null;
  }
}

function isMember(text: string): boolean {
  return /^[UW][A-Z0-9]{5,20}$/u.test(text);
}

/** The address of the Web API with the slash at its end that the SDK needs. */
function apiUrlOf(before: ChannelSettings | undefined): string | null {
  const address = before?.['apiUrl'];
  return typeof address === 'string' ? `${address.replace(/\/+$/u, '')}/` : null;
}

/** What Slack says of both tokens of a channel. */
export async function tryTokens(scene: Scene, name: string, settings: ChannelSettings): Promise<readonly Found[]> {
  return await Promise.all(
    (
      [
        ['botToken', 'xoxb-'],
        ['appToken', 'xapp-'],
      ] as const
    ).map(async ([key, prefix]) => {
      const answer = await askSlack(String(settings[key]), settings, prefix);
      return tokenFinding(scene, { name, key, answer, who: (user) => user || 'the app' });
    }),
  );
}

/** Tries a token with Slack: for a bot token (`xoxb-`) returns the bot's name, for an app-level token (`xapp-`) ''. */
export async function askSlack(
  token: string,
  before: ChannelSettings | undefined,
  prefix: 'xoxb-' | 'xapp-',
): Promise<Checked<string>> {
  if (!token.startsWith(prefix)) {
    const other =
      { 'xapp-': 'That is the app-level token. ', 'xoxb-': 'That is the bot token. ' }[token.slice(0, 5)] ?? '';
    return `${other}The one asked for begins with ${prefix}.`;
  }
  if (!/^[\w-]+$/u.test(token)) return 'This token has signs in it that no token of Slack has. Copy it again.';
  const client = openSlackClient({ botToken: token, apiUrl: apiUrlOf(before) });
  try {
    if (prefix === 'xoxb-') return { facts: (await client.auth.test()).user ?? 'the bot' };
    await client.apps.connections.open();
    return { facts: '' };
  } catch (error) {
    const failure = callFailure(error);
    if (isTokenRefused(failure)) return 'Slack refused this token. Copy it again from the page of your app.';
    return failure.code === undefined ? { offline: `${failure.reason}.` } : `${failure.reason}.`;
  }
}
