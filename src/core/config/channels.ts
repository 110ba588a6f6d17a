import { isOwnersChannel } from '../util/owners-channels.ts';
import type { Config } from './schema.ts';
import { channelOffBy, kindOf, type Program } from '../program.ts';
import type { ChannelSettings } from './schema/channels.ts';

/** A configuration, and what it was checked with. */
interface Checked {
  readonly config: Pick<Config, 'channels'>;
  readonly program: Program;
}

/** The channels to connect: enabled, of a kind that isn't switched off, and with the tokens that their platform needs. */
export function enabledChannels({ config, program }: Checked): Readonly<Record<string, ChannelSettings>> {
  return Object.fromEntries(
    Object.entries(config.channels).filter(
      ([name, settings]) =>
        settings.enabled &&
        channelOffBy(program, settings.kind ?? name) === undefined &&
        missingSecrets(program, name, settings).length === 0,
    ),
  );
}

/** The names of channels that have settings and `enabled: false`. */
export function channelsOff({ channels }: Pick<Config, 'channels'>): readonly string[] {
  return Object.keys(channels).filter((name) => channels[name]?.enabled === false);
}

/** Whether messages can be addressed to a channel of this name: it has settings, or is one of the owner's own. */
export function hasChannel({ channels }: Pick<Config, 'channels'>, name: string): boolean {
  return isOwnersChannel(name) || Object.hasOwn(channels, name);
}

/** The keys of the tokens that this channel cannot do without and does not have. */
export function missingSecrets(program: Program, name: string, settings: ChannelSettings): readonly string[] {
  const { secrets = [] } = kindOf(program, settings.kind ?? name) ?? {};
  return secrets.filter((key) => typeof settings[key] !== 'string');
}
