import { enabledChannels } from '../config/channels.ts';
import type { ChannelSettings } from '../config/schema/channels.ts';
import type { Checked } from '../setup/platform.ts';
import { failed, ok, warning, type Found } from '../util/finding.ts';
import type { Scene } from './scene.ts';

/** The enabled channels of one platform. */
export function channelsOf({ loaded }: Scene, platform: string): readonly (readonly [string, ChannelSettings])[] {
  if (loaded === null) return [];
  return Object.entries(enabledChannels(loaded)).filter(([name, { kind }]) => (kind ?? name) === platform);
}

/** What a platform said of a token. */
export function tokenFinding({ paths, command }: Scene, setting: string, answer: Checked): Found {
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
