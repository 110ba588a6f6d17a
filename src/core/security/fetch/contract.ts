import { AppError } from '../../util/errors.ts';

export interface FetchOptions {
  readonly signal?: AbortSignal;
  /** @default 'GET' */
  readonly method?: string;
  /** Only `accept`, `accept-language` and `user-agent` follow a redirect to another origin. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Limit of the unpacked body; a longer one is cut. @default 5 MB */
  readonly maxBytes?: number;
  /** Limit for the whole fetch with its redirects. @default 30 s */
  readonly timeoutMs?: number;
}

/** The answer. All of it is untrusted: `url`, headers and bytes are data, never instructions. */
export interface FetchResult {
  /** The URL that was fetched in the end, after redirects. */
  readonly url: string;
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The unpacked body. */
  readonly bytes: Uint8Array;
  readonly truncated: boolean;
  readonly redirects: number;
}

/**
 * Why a permitted fetch failed.
 *
 * - `dns`: the name has no address; `refused`: no connection; `tls`: the certificate or the handshake.
 * - `timeout`: no answer in time; `too-slow`: an answer began but did not end in time.
 * - `too-large`: too many bytes of headers or compressed data, or a streamed body over its limit; a large body that is read
 *   as a whole is cut instead.
 * - `bad-redirect`: a loop, too many redirects, or one that would send the body to another origin; `bad-answer`: not HTTP,
 *   or not encoded as declared.
 */
type FetchFailure = 'dns' | 'refused' | 'tls' | 'timeout' | 'too-large' | 'too-slow' | 'bad-redirect' | 'bad-answer';

/** The error for a forbidden target, to which nothing was sent. `why` is a sentence. */
export function fetchRefused(why: string, facts: Record<string, unknown> = {}): AppError {
  return new AppError('fetch-refused', why, { facts });
}

/** The error of a permitted fetch that failed. `sentence` may name the host, but nothing else of untrusted content. */
export function fetchFailed(kind: FetchFailure, sentence: string, cause?: unknown): AppError {
  return new AppError('fetch-failed', sentence, { facts: { kind }, ...(cause === undefined ? {} : { cause }) });
}
