import type * as z from 'zod';
import type { Random } from '../util/random.ts';
import { nearest } from '../util/text.ts';
import { ChannelError, type Channel } from './channel.ts';
import type { ChannelSource } from './manager.ts';
import { discordOptions } from './discord/options.ts';
import { slackOptions } from './slack/options.ts';
import { telegramOptions } from './telegram/options.ts';

/** One entry of `config.channels`. What else is in it is the business of its kind. */
export interface ChannelConfig {
  /** @default the entry's own name */
  readonly kind?: string | undefined;
  readonly [key: string]: unknown;
}

/** Kinds of channels that plugins bring. */
export type PluggedKinds = Readonly<Record<string, ChannelKind>>;

interface ChannelPorts {
  readonly random: Random;
  readonly plugged?: PluggedKinds;
}

/** A kind of channel; its SDK is loaded by `open`, so only when such a channel is enabled. */
interface ChannelKind {
  /** Which form of text it shows, one sentence that tells the model what to write. */
  readonly shows: string;
  open(name: string, config: ChannelConfig, ports: ChannelPorts): Promise<Channel>;
}

const MARKDOWN = 'Write Markdown, which this chat shows; a table appears as monospaced text.';

const kinds = {
  telegram: kind({
    shows: MARKDOWN,
    options: telegramOptions,
    open: async (name, options, ports) => {
      const { TelegramChannel } = await import('./telegram/channel.ts');
      return new TelegramChannel(name, options, ports.random);
    },
  }),
  discord: kind({
    shows: MARKDOWN,
    options: discordOptions,
    open: async (name, options, ports) => {
      const { DiscordChannel } = await import('./discord/channel.ts');
      return new DiscordChannel(name, options, ports.random);
    },
  }),
  slack: kind({
    shows: MARKDOWN,
    options: slackOptions,
    open: async (name, options, ports) => {
      const { SlackChannel } = await import('./slack/channel.ts');
      return new SlackChannel(name, options, ports.random);
    },
  }),
} satisfies Record<string, ChannelKind>;

/** The channel that this entry configures. Nothing is loaded or checked before it is opened. */
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

/** What a model is to write for a channel, one sentence; null for a kind that nobody knows. */
export function howItShows(kindName: string, plugged: PluggedKinds): string | null {
  if (kindName === 'terminal') return 'Write plain text without Markdown marks: a terminal shows them as they are.';
  return kindNamed(kindName, plugged)?.shows ?? null;
}

/** Whether a kind comes with the assistant. */
export function isBuiltIn(kindName: string): boolean {
  return kindName === 'terminal' || Object.hasOwn(kinds, kindName);
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
      const parsed = row.options.safeParse(config);
      if (!parsed.success) throw badOptions(name, parsed.error);
      return row.open(name, parsed.data, ports);
    },
  };
}

/** Names the key and what was expected, never the value: it may be a secret. */
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
