import type { Clock } from '../util/clock.ts';

/** Where and how one provider is reached. */
export interface EndpointOptions {
  /** The key in `config.providers`. */
  readonly name: string;
  /** Null: the server asks for none. */
  readonly apiKey: string | null;
  /** Null: the API's own address. */
  readonly baseUrl: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Merged over the request's body. */
  readonly extraBody?: Readonly<Record<string, unknown>>;
  /** @default 60_000 */
  readonly firstByteMs?: number;
  /** @default 60_000 */
  readonly idleMs?: number;
  readonly clock: Clock;
  /** The environment variable that usually holds the key; named in messages. */
  readonly keyVariable?: string | null;
}

export const DEFAULT_FIRST_BYTE_MS = 60_000;
export const DEFAULT_IDLE_MS = 60_000;
