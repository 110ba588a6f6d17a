import { textIn, type ChannelSettings } from '../../core/api-channels.ts';
import { channelsOf, failed, isConflict, ok, type Check, type Finding, type Scene } from '../../core/api-doctor.ts';
import { callTelegram } from './setup.ts';

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
  const asked = callTelegram({ settings, clock: scene.clock }, signal, (api, ended) => api.getWebhookInfo(ended));
  // That it does not answer is what channel.token says.
  const info = await asked.catch(() => null);
  if (info === null) return [];
  if ((info.url ?? '') === '') return [ok(`Nothing else is known to fetch the messages of ${name}.`)];
  return [
    failed(
      `The bot of ${name} has a webhook, so its messages go there and not here.`,
      `With its token in TELEGRAM_BOT_TOKEN: curl "${textIn(settings, 'apiRoot') ?? 'https://api.telegram.org'}/bot$TELEGRAM_BOT_TOKEN/deleteWebhook"`,
    ),
  ];
}
