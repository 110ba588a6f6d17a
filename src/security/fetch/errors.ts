import { AppError } from '../../util/errors.ts';

/**
 * How a permitted fetch went wrong.
 *
 * - `dns`: the name has no address; `refused`: nothing could be connected to; `tls`: the certificate or handshake.
 * - `timeout`: nothing came in time; `too-slow`: something came, but not its end in time.
 * - `too-large`: headers or compressed data beyond every measure; a large body is cut, not an error.
 * - `bad-redirect`: a loop, too many, or one that leads nowhere; `bad-answer`: not HTTP, or not as it says it is packed.
 */
export type FetchFailure =
  | 'dns'
  | 'refused'
  | 'tls'
  | 'timeout'
  | 'too-large'
  | 'too-slow'
  | 'bad-redirect'
  | 'bad-answer';

/** Nothing was sent, because it must not be. `why` is a sentence. */
export function fetchRefused(why: string, facts: Record<string, unknown> = {}): AppError {
  return new AppError('fetch-refused', why, { facts });
}

/** `sentence` names the host and no more of what a stranger wrote. */
export function fetchFailed(kind: FetchFailure, sentence: string, cause?: unknown): AppError {
  return new AppError('fetch-failed', sentence, { facts: { kind }, ...(cause === undefined ? {} : { cause }) });
}
