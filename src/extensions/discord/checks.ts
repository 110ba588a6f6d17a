import { channelsOf, failed, ok, type Check, type Finding, type Scene } from '../../core/api-doctor.ts';
import { askDiscord } from './setup.ts';

export const checks: readonly Check[] = [
  { id: 'channel.intents', subject: 'channels', about: 'Discord lets the bot read messages', live: true, run: intents },
];

async function intents(scene: Scene): Promise<readonly Finding[]> {
  const channels = channelsOf(scene, 'discord');
  if (channels.length === 0) return [];
  const found = await Promise.all(
    channels.map(async ([name, settings]): Promise<readonly Finding[]> => {
      const answer = await askDiscord({ settings, clock: scene.clock });
      // That the token is refused is what channel.token says.
      if (typeof answer === 'string' || !('facts' in answer)) return [];
      if (answer.facts.missing === undefined) return [ok(`The bot of ${name} may read messages.`)];
      return [
        failed(
          `The bot of ${name} may not read messages: Message Content Intent is off.`,
          `Switch it on at https://discord.com/developers/applications/${answer.facts.application}/bot`,
        ),
      ];
    }),
  );
  return found.flat();
}
