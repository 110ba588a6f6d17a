import { channelsOf, failed, ok, tokenFinding, type Check, type Found, type Scene } from '../../core/api-doctor.ts';
import { textIn, type ChannelSettings } from '../../core/api-channels.ts';
import { askDiscord, mayReadMessages } from './setup.ts';

export const checks: readonly Check[] = [
  { id: 'channel.intents', subject: 'channels', about: 'Discord lets the bot read messages', live: true, run: intents },
];

/** What Discord says of the token of a channel. */
export async function tryToken(scene: Scene, name: string, settings: ChannelSettings): Promise<readonly Found[]> {
  const answer = await askDiscord(String(settings['token']), textIn(settings, 'apiBase'));
  return [tokenFinding(scene, { name, key: 'token', answer, who: (app) => app.name || app.id })];
}

async function intents(scene: Scene): Promise<readonly Found[]> {
  const channels = channelsOf(scene, 'discord');
  if (channels.length === 0) return [];
  const found = await Promise.all(
    channels.map(async ([name, settings]): Promise<readonly Found[]> => {
      const answer = await askDiscord(String(settings['token']), textIn(settings, 'apiBase'));
      // That the token is refused is what channel.token says.
      if (typeof answer === 'string' || !('facts' in answer)) return [];
      if (mayReadMessages(answer.facts)) return [ok(`The bot of ${name} may read messages.`)];
      return [
        failed(
          `The bot of ${name} may not read messages: Message Content Intent is off.`,
          `Switch it on at https://discord.com/developers/applications/${answer.facts.id}/bot`,
        ),
      ];
    }),
  );
  return found.flat();
}
