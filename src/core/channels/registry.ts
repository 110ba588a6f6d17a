import type * as z from 'zod';
import { nearest } from '../util/text.ts';
import { ChannelError, type Channel } from './channel.ts';
import type { ChannelSource } from './supervised-channel.ts';

/** One entry of `config.channels`. Its kind reads and checks all other fields. */
export interface ChannelConfig {
  /** @default the entry's own name */
  readonly kind?: string;
  readonly [key: string]: unknown;
}

/** Kinds of channels by name. */
export type ChannelKinds = Readonly<Record<string, ChannelKind>>;

/** A kind of channel; its SDK is loaded by `open`, so only when such a channel is enabled. */
interface ChannelKind {
  /** One sentence that tells the model which formatting this kind shows. */
  readonly shows: string;
  open(name: string, config: ChannelConfig): Promise<Channel>;
}

/** Makes the source of the channel that an entry configures. Nothing is loaded or checked before `open`. */
export function channelSource(name: string, config: ChannelConfig, kinds: ChannelKinds): ChannelSource {
  const kindName = config.kind ?? name;
  return {
    name,
    kind: kindName,
    async open() {
      const known = kindNamed(kindName, kinds);
      if (known === undefined) throw unknownKind(name, kindName, kinds);
      return known.open(name, config);
    },
  };
}

/** One sentence that tells the model which formatting a kind of channel shows; null for an unknown kind. */
export function howItShows(kindName: string, kinds: ChannelKinds): string | null {
  if (kindName === 'terminal') return 'Write Markdown: a terminal shows lists, tables, links and code, but no images.';
  if (kindName === 'web') return 'Write Markdown: the page shows lists, tables, links, code and images that you send.';
  return kindNamed(kindName, kinds)?.shows ?? null;
}

function kindNamed(name: string, kinds: ChannelKinds): ChannelKind | undefined {
  return Object.hasOwn(kinds, name) ? kinds[name] : undefined;
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

function unknownKind(name: string, given: string, kinds: ChannelKinds): ChannelError {
  const known = Object.keys(kinds);
  const hint = nearest(given, known);
  return new ChannelError(
    `channels.${name}.kind: "${given}" is not a kind of channel${hint === undefined ? '' : `, did you mean "${hint}"?`} (known: ${known.join(', ')}).`,
    { retry: false },
  );
}
