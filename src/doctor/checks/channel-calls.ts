import { enabledChannels } from '../../core/config/channels.ts';
import type { ChannelSettings } from '../../core/config/schema/channels.ts';
import type { Checked } from '../../core/setup/platform.ts';
import { failed, ok, warning, type Check, type Finding } from '../check.ts';
import type { Scene } from '../scene.ts';

export const channelCallChecks: readonly Check[] = [
  {
    id: 'channel.token',
    subject: 'channels',
    about: 'each platform takes the token of its bot',
    live: true,
    run: tokens,
  },
];

/** The enabled channels of one platform. */
export function channelsOf({ loaded }: Scene, platform: string): readonly (readonly [string, ChannelSettings])[] {
  if (loaded === null) return [];
  return Object.entries(enabledChannels(loaded)).filter(([name, { kind }]) => (kind ?? name) === platform);
}

async function tokens(scene: Scene): Promise<readonly Finding[]> {
  const { program, clock } = scene;
  const kinds = program.extensions.flatMap(({ channels = [] }) => channels);
  const tried = kinds.flatMap(({ kind, setup }) =>
    channelsOf(scene, kind).map(async ([name, settings]) => {
      const { tokens: steps = {} } = (await setup?.platform()) ?? {};
      return await Promise.all(
        Object.entries(steps).map(async ([key, { check }]) =>
          tokenFinding(scene, `channels.${name}.${key}`, await check({ settings, clock })),
        ),
      );
    }),
  );
  return (await Promise.all(tried)).flat();
}

/** What a platform said of a token. */
function tokenFinding({ paths, command }: Scene, setting: string, answer: Checked): Finding {
  if (typeof answer !== 'string') {
    if ('facts' in answer) return ok(`${setting} is right: ${answer.facts.name || 'the app'}.`);
    return warning(`${setting} could not be tried: ${withoutStop(answer.offline)}.`, command('doctor'));
  }
  return failed(
    `${setting}: ${answer}`,
    `Put the new one into ${setting} in ${paths.config}, or run: ${command('init')}`,
  );
}

function withoutStop(text: string): string {
  return text.replace(/\.$/u, '');
}
