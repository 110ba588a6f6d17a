import { enabledChannels } from '../config/channels.ts';
import type { ChannelSettings } from '../config/schema/channels.ts';
import type { Checked } from '../setup/token.ts';
import { failed, ok, warning, type Found } from '../util/finding.ts';
import type { Scene } from './scene.ts';

/** The enabled channels of one platform. */
export function channelsOf({ loaded }: Scene, platform: string): readonly (readonly [string, ChannelSettings])[] {
  if (loaded === null) return [];
  return Object.entries(enabledChannels(loaded)).filter(([name, { kind }]) => (kind ?? name) === platform);
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
