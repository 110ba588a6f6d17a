import { textIn, type ChannelSettings } from '../../core/api-channels.ts';
import { channelsOf, failed, ok, tokenFinding, type Check, type Found, type Scene } from '../../core/api-doctor.ts';
import { askTelegram, openBot } from './setup.ts';
import { forGrammy, openTransport } from './transport.ts';

export const checks: readonly Check[] = [
  {
    id: 'channel.poller',
    subject: 'channels',
    about:
      'a bot on Telegram has no webhook, and the running gateway hears of no other program that fetches its messages',
    live: true,
    run: pollers,
  },
];

/** What Telegram says of the token of a channel. */
export async function tryToken(scene: Scene, name: string, settings: ChannelSettings): Promise<readonly Found[]> {
  using transport = openTransport(scene.clock);
  const open = (token: string): ReturnType<typeof openBot> => openBot(token, textIn(settings, 'apiRoot'), transport);
  const answer = await askTelegram(open, String(settings['token']), scene.clock);
  return [tokenFinding(scene, { name, key: 'token', answer, who: ({ username }) => `@${username}` })];
}

async function pollers(scene: Scene, signal: AbortSignal): Promise<readonly Found[]> {
  const found = await Promise.all(channelsOf(scene, 'telegram').map((channel) => poller(scene, channel, signal)));
  return found.flat();
}

/** Fetching messages to see whether another program does would cut that program off, so only the gateway's own word counts. */
async function poller(
  scene: Scene,
  [name, settings]: readonly [string, ChannelSettings],
  signal: AbortSignal,
): Promise<readonly Found[]> {
  if (scene.gateway?.channels[name]?.code === 'conflict') {
    return [
      failed(
        `Another program fetches the messages of the bot of ${name}, so only some of them come here.`,
        'Stop that program, or give this assistant a bot of its own from @BotFather',
      ),
    ];
  }
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
