import { enabledChannels } from '../../core/config/channels.ts';
import type { ChannelSettings } from '../../core/config/schema/channels.ts';
import type { Checked } from '../../core/setup/token.ts';
import { failed, ok, warning, type Found } from '../../core/util/finding.ts';
import { checksOn, LIVE } from '../check.ts';
import type { Scene } from '../scene.ts';

export const channelCallChecks = checksOn('channels', [
  ['channel.token', 'each platform takes the token of its bot', tokens, LIVE],
]);

/** The enabled channels of one platform. */
export function channelsOf({ loaded }: Scene, platform: string): readonly (readonly [string, ChannelSettings])[] {
  if (loaded === null) return [];
  return Object.entries(enabledChannels(loaded)).filter(([name, { kind }]) => (kind ?? name) === platform);
}

async function tokens(scene: Scene): Promise<readonly Found[]> {
  const kinds = scene.program.extensions.flatMap(({ channels = [] }) => channels);
  const tried = kinds.flatMap(({ kind, setup }) =>
    channelsOf(scene, kind).map(async ([name, settings]) => (await setup?.tryTokens?.(scene, name, settings)) ?? []),
  );
  return (await Promise.all(tried)).flat();
}

/** What a platform said of a token. */
export function tokenFinding<Facts>(
  { paths, command }: Scene,
  { name, key, answer, who }: { name: string; key: string; answer: Checked<Facts>; who: (facts: Facts) => string },
): Found {
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

function withoutStop(text: string): string {
  return text.replace(/\.$/u, '');
}
