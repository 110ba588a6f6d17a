import { enabledChannels } from '../../config/channels.ts';
import { textIn, type ChannelSettings } from '../../config/schema/channels.ts';
import type { Checked } from '../../setup/channels/token.ts';
import { failed, ok, warning, type Check, type Finding } from '../check.ts';
import { isConflict } from './channels.ts';
import type { Scene } from '../scene.ts';

export const channelCallChecks: readonly Check[] = [
  tokenCheck(tokens),
  {
    id: 'channel.poller',
    subject: 'channels',
    about:
      'a bot on Telegram has no webhook, and the running gateway hears of no other program that fetches its messages',
    live: true,
    run: pollers,
  },
];

/** The enabled channels of one platform. */
export function channelsOf({ loaded }: Scene, platform: string): readonly (readonly [string, ChannelSettings])[] {
  if (loaded === null) return [];
  return Object.entries(enabledChannels(loaded)).filter(([name, { kind }]) => (kind ?? name) === platform);
}

async function tokens(scene: Scene): Promise<readonly Finding[]> {
  const found = await Promise.all([
    ...channelsOf(scene, 'telegram').map((channel) => telegram(scene, channel)),
    ...channelsOf(scene, 'slack').flatMap(([name, settings]) => [
      slack(scene, { name, settings, key: 'botToken', prefix: 'xoxb-' }),
      slack(scene, { name, settings, key: 'appToken', prefix: 'xapp-' }),
    ]),
  ]);
  return found;
}

async function telegram(scene: Scene, [name, settings]: readonly [string, ChannelSettings]): Promise<Finding> {
  const { askTelegram, openBot } = await import('../../setup/channels/telegram.ts');
  const { openTransport } = await import('../../channels/telegram/transport.ts');
  using transport = openTransport(scene.clock);
  const open = (token: string): ReturnType<typeof openBot> => openBot(token, textIn(settings, 'apiRoot'), transport);
  const answer = await askTelegram(open, String(settings['token']), scene.clock);
  return tokenFinding(scene, { name, key: 'token', answer, who: ({ username }) => `@${username}` });
}

interface SlackToken {
  readonly name: string;
  readonly settings: ChannelSettings;
  readonly key: 'botToken' | 'appToken';
  readonly prefix: 'xoxb-' | 'xapp-';
}

async function slack(scene: Scene, { name, settings, key, prefix }: SlackToken): Promise<Finding> {
  const { askSlack } = await import('../../setup/channels/slack.ts');
  const answer = await askSlack(String(settings[key]), settings, prefix);
  return tokenFinding(scene, { name, key, answer, who: (user) => user || 'the app' });
}

/** Whether a platform takes the tokens of its channels: one check for all platforms. */
export function tokenCheck(run: Check['run']): Check {
  return { id: 'channel.token', subject: 'channels', about: 'each platform takes its tokens', live: true, run };
}

/** What a platform said of a token. */
export function tokenFinding<Facts>(
  { paths, command }: Scene,
  { name, key, answer, who }: { name: string; key: string; answer: Checked<Facts>; who: (facts: Facts) => string },
): Finding {
  const setting = `channels.${name}.${key}`;
  if (typeof answer !== 'string') {
    if ('facts' in answer) return ok(`${setting} is right: ${who(answer.facts)}.`);
    return warning(`${setting} could not be tried: ${withoutStop(answer.offline)}.`, command('doctor'));
  }
  return failed(
    `${setting}: ${answer}`,
    `Put the new one into ${setting} in ${paths.config}, or run: ${command('init')}`,
  );
}

async function pollers(scene: Scene, signal: AbortSignal): Promise<readonly Finding[]> {
  const found = await Promise.all(channelsOf(scene, 'telegram').map((channel) => poller(scene, channel, signal)));
  return found.flat();
}

/** Fetching messages to see whether another program does would cut that program off, so only the gateway's own word counts. */
async function poller(
  scene: Scene,
  [name, settings]: readonly [string, ChannelSettings],
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  if (isConflict(scene.gateway?.channels[name]?.detail)) {
    return [
      failed(
        `Another program fetches the messages of the bot of ${name}, so only some of them come here.`,
        'Stop that program, or give this assistant a bot of its own from @BotFather',
      ),
    ];
  }
  const { openBot } = await import('../../setup/channels/telegram.ts');
  const { forGrammy, openTransport } = await import('../../channels/telegram/transport.ts');
  using transport = openTransport(scene.clock);
  const api = openBot(String(settings['token']), textIn(settings, 'apiRoot'), transport);
  // That it does not answer is what channel.token says.
  const info = await api.raw.getWebhookInfo(forGrammy(signal)).catch(() => null);
  if (info === null) return [];
  if ((info.url ?? '') === '') return [ok(`Nothing else is known to fetch the messages of ${name}.`)];
  return [
    failed(
      `The bot of ${name} has a webhook, so its messages go there and not here.`,
      `With its token in TELEGRAM_BOT_TOKEN: curl "${textIn(settings, 'apiRoot') ?? 'https://api.telegram.org'}/bot$TELEGRAM_BOT_TOKEN/deleteWebhook"`,
    ),
  ];
}

function withoutStop(text: string): string {
  return text.replace(/\.$/u, '');
}
