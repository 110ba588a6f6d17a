import {
  channelsOf,
  failed,
  ok,
  tokenCheck,
  tokenFinding,
  type Check,
  type Finding,
  type Scene,
} from '../../core/api-doctor.ts';
import { textIn } from '../../core/api-channels.ts';
import { askDiscord, mayReadMessages } from './setup.ts';

export const checks: readonly Check[] = [
  tokenCheck(tokens),
  { id: 'channel.intents', subject: 'channels', about: 'Discord lets the bot read messages', live: true, run: intents },
];

function tokens(scene: Scene): Promise<readonly Finding[]> {
  return Promise.all(
    channelsOf(scene, 'discord').map(async ([name, settings]) => {
      const answer = await askDiscord(String(settings['token']), textIn(settings, 'apiBase'));
      return tokenFinding(scene, { name, key: 'token', answer, who: (app) => app.name || app.id });
    }),
  );
}

async function intents(scene: Scene): Promise<readonly Finding[]> {
  const channels = channelsOf(scene, 'discord');
  if (channels.length === 0) return [];
  const found = await Promise.all(
    channels.map(async ([name, settings]): Promise<readonly Finding[]> => {
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
