import type { Clock } from '../util/clock.ts';
import type { Quirks } from './presets.ts';
import type { LearnedFacts } from './learned.ts';
import type { ProviderConfig } from './open-provider.ts';
import type { ErrorHints } from './vendor.ts';

const LOCAL_NAME = /^(?:localhost|host\.docker\.internal|[^.:]+|[^:]+\.(?:local|lan|home\.arpa|internal|localhost))$/u;

const PRIVATE_V4 =
  /^(?:127|10)\.\d+\.\d+\.\d+$|^192\.168\.\d+\.\d+$|^172\.(?:1[6-9]|2\d|3[01])\.\d+\.\d+$|^169\.254\.\d+\.\d+$|^100\.(?:6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.\d+\.\d+$/u;

const PRIVATE_V6 = /^\[(?:::1|::ffff:7f.*|f[cd][0-9a-f]{2}:.*|fe[89ab][0-9a-f]:.*)\]$/u;

/** Where and how one provider is reached. */
export interface EndpointOptions {
  /** The key in `config.providers`. */
  readonly name: string;
  /** Null: the server needs none. */
  readonly apiKey: string | null;
  /** Null: the API's own address. */
  readonly baseUrl: string | null;
  /** Which of its vendor's wires. @default the first */
  readonly wire?: ProviderConfig['wire'];
  readonly headers?: Readonly<Record<string, string>>;
  /** How an OpenAI-compatible server differs from most. */
  readonly quirks?: Partial<Quirks>;
  /** What its models have refused so far. @default each request begins without that knowledge */
  readonly learned?: LearnedFacts;
  /** What errors name of the server's own commands. @default nothing */
  readonly hints?: ErrorHints;
  /** Merged over the request's body. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** Deadline for the first byte of a response, ms. @default 60_000; 300_000 for local addresses and for thinking */
  readonly firstByteMs?: number;
  /** Longest pause between two bytes, ms. @default as `firstByteMs` */
  readonly idleMs?: number;
  /** Which of the provider's keys this is, counted from 1. @default it has one or none */
  readonly keyNumber?: number;
  readonly clock: Clock;
  /** The environment variable that the key was read from; named in messages. @default the key stands in the configuration */
  readonly keyVariable?: string | null;
}

const PATIENCE_MS = 60_000;
/** A local model may take minutes to load, and thinking takes minutes anywhere. */
const LONG_PATIENCE_MS = 300_000;

/** The endpoint with the deadlines for calls in which the model thinks first. */
export function forThinking(endpoint: EndpointOptions): EndpointOptions {
  const { firstByteMs = LONG_PATIENCE_MS, idleMs = LONG_PATIENCE_MS } = endpoint;
  return { ...endpoint, firstByteMs, idleMs };
}

/** The endpoint's deadlines, with the defaults for those that it does not set. */
export function deadlinesOf({ baseUrl, firstByteMs, idleMs }: EndpointOptions): {
  readonly firstByteMs: number;
  readonly idleMs: number;
} {
  const usual = isLocalAddress(baseUrl) ? LONG_PATIENCE_MS : PATIENCE_MS;
  return { firstByteMs: firstByteMs ?? usual, idleMs: idleMs ?? usual };
}

/** Whether an address is on this machine or in a private network. */
export function isLocalAddress(baseUrl: string | null): boolean {
  const host = (baseUrl === null ? null : URL.parse(baseUrl))?.hostname ?? '';
  return LOCAL_NAME.test(host) || PRIVATE_V4.test(host) || PRIVATE_V6.test(host);
}

/** The keys of an entry, each once. */
export function keysOf({ apiKey }: ProviderConfig): readonly string[] {
  const keys = typeof apiKey === 'string' ? [apiKey] : (apiKey ?? []);
  return [...new Set(keys.filter((key) => key.trim() !== ''))];
}
