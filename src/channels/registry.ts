import type * as z from 'zod';
import type { Random } from '../util/random.ts';
import { nearest } from '../util/text.ts';
import { isOwnersChannel } from '../util/owners-channels.ts';
import { ChannelError, type Channel } from './channel.ts';
import type { ChannelSource } from './supervised-channel.ts';
import { PlatformChannel } from './platform.ts';
import { MARKDOWN } from './shows.ts';
import { slackOptions } from './slack/options.ts';
import { telegramOptions } from './telegram/options.ts';

/** One entry of `config.channels`. Its kind reads and checks all other fields. */
export interface ChannelConfig {
  /** @default the entry's own name */
  readonly kind?: string;
  readonly [key: string]: unknown;
}

/** Kinds of channels from plugins, by name. */
export type PluggedKinds = Readonly<Record<string, ChannelKind>>;

interface ChannelPorts {
  readonly random: Random;
  readonly plugged?: PluggedKinds;
}

/** A kind of channel; its SDK is loaded by `open`, so only when such a channel is enabled. */
interface ChannelKind {
  /** One sentence that tells the model which formatting this kind shows. */
  readonly shows: string;
  open(name: string, config: ChannelConfig, ports: ChannelPorts): Promise<Channel>;
}

const kinds = {
  telegram: kind({
    shows: MARKDOWN,
    options: telegramOptions,
    open: async (name, options, { random }) => {
      const { telegram } = await import('./telegram/channel.ts');
      return new PlatformChannel(name, telegram(options), random);
    },
  }),
  slack: kind({
    shows: MARKDOWN,
    options: slackOptions,
    open: async (name, options, { random }) => {
      const { slack } = await import('./slack/channel.ts');
      return new PlatformChannel(name, slack(options), random);
    },
  }),
} satisfies Record<string, ChannelKind>;

/** Makes the source of the channel that an entry configures. Nothing is loaded or checked before `open`. */
export function channelSource(name: string, config: ChannelConfig, ports: ChannelPorts): ChannelSource {
  const kindName = config.kind ?? name;
  return {
    name,
    kind: kindName,
    async open() {
      const known = kindNamed(kindName, ports.plugged);
      if (known === undefined) throw unknownKind(name, kindName, ports.plugged);
      return known.open(name, config, ports);
    },
  };
}

/** One sentence that tells the model which formatting a kind of channel shows; null for an unknown kind. */
export function howItShows(kindName: string, plugged: PluggedKinds): string | null {
  if (kindName === 'terminal') return 'Write Markdown: a terminal shows lists, tables, links and code, but no images.';
  if (kindName === 'web') return 'Write Markdown: the page shows lists, tables, links, code and images that you send.';
  return kindNamed(kindName, plugged)?.shows ?? null;
}

/** Whether a kind comes with the assistant. */
export function isBuiltIn(kindName: string): boolean {
  return isOwnersChannel(kindName) || Object.hasOwn(kinds, kindName);
}

function kindNamed(name: string, plugged: PluggedKinds = {}): ChannelKind | undefined {
  return Object.entries({ ...plugged, ...kinds }).find(([key]) => key === name)?.[1];
}

function kind<Options>(row: {
  readonly shows: string;
  readonly options: z.ZodType<Options>;
  readonly open: (name: string, options: Options, ports: ChannelPorts) => Promise<Channel>;
}): ChannelKind {
  return {
    shows: row.shows,
    async open(name, config, ports) {
      return row.open(name, channelOptions(name, config, row.options), ports);
    },
  };
}

/** The options of an entry as a schema reads them. Throws a `ChannelError` that names the key. */
export function channelOptions<Options>(
  name: string,
  settings: Readonly<Record<string, unknown>>,
  options: z.ZodType<Options>,
): Options {
  const parsed = options.safeParse(settings);
  if (parsed.success) return parsed.data;
  throw badOptions(name, parsed.error);
}

/** The error for wrong options: names the key and what was expected, but not the value, which may be a secret. */
function badOptions(name: string, { issues }: z.ZodError): ChannelError {
  const [issue] = issues;
  const path = ['channels', name, ...(issue?.path ?? [])].join('.');
  return new ChannelError(`${path}: ${issue?.message ?? 'is not valid'}.`, { retry: false });
}

function unknownKind(name: string, given: string, plugged: PluggedKinds = {}): ChannelError {
  const known = [...Object.keys(kinds), ...Object.keys(plugged)];
  const hint = nearest(given, known);
  return new ChannelError(
    `channels.${name}.kind: "${given}" is not a kind of channel${hint === undefined ? '' : `, did you mean "${hint}"?`} (known: ${known.join(', ')}).`,
    { retry: false },
  );
}
