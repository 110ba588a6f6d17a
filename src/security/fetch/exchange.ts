import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { AppError, errorCode } from '../../util/errors.ts';
import { ACCEPT_ENCODING } from './body.ts';
import { fetchFailed, fetchRefused } from './contract.ts';
import type { FetchRequest } from './request.ts';
import type { Target } from './target.ts';

export interface Answer extends AsyncDisposable {
  readonly status: number;
  /** Names in lower case; repeated ones joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** Still packed. Must be read to its end, or the answer disposed. */
  readonly body: Readable;
}

const MOST_HEADER_BYTES = 32_768;

/**
 * Asks one question over a socket that is already connected, and resolves when the headers of the answer are there.
 * Disposing closes the connection. Throws `fetch-failed`, or the signal's reason.
 */
export async function exchange(
  socket: Socket,
  {
    target,
    request,
    signal,
    acceptEncoding = ACCEPT_ENCODING,
  }: { target: Target; request: FetchRequest; signal: AbortSignal; acceptEncoding?: string },
): Promise<Answer> {
  // By its default export: a bundle gives a CommonJS package that is loaded late no other.
  const { Client } = (await import('undici')).default;
  let given = false;
  const client = new Client(target.url.origin, {
    // The only connection this client will ever have is the checked one. It must not be given synchronously.
    connect: (_options, callback) => {
      const again = given;
      given = true;
      setImmediate(() => (again ? callback(new Error('the connection was lost'), null) : callback(null, socket)));
    },
    allowH2: false,
    useMilo: false,
    maxHeaderSize: MOST_HEADER_BYTES,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const close = async (): Promise<void> => {
    await client.destroy();
    socket.destroy();
  };
  try {
    const { statusCode, headers, body } = await client.request({
      path: target.url.pathname + target.url.search,
      method: request.method,
      headers: { ...request.headers, 'accept-encoding': acceptEncoding },
      body: request.body,
      signal,
      reset: true,
    });
    body.on('error', () => {});
    const joined = Object.entries(headers).map(([name, value = '']) => [name, [value].flat().join(', ')] as const);
    return { status: statusCode, headers: Object.fromEntries(joined), body, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    signal.throwIfAborted();
    throw fetchError(error, target);
  }
}

/** What went wrong while an answer was awaited or read, as one sentence. */
export function fetchError(error: unknown, { url: { host } }: Target): AppError {
  if (error instanceof AppError) return error;
  const code = errorCode(error) ?? '';
  if (code === 'UND_ERR_INVALID_ARG') return fetchRefused('This request was refused: it cannot be sent as it is.');
  if (code === 'UND_ERR_HEADERS_OVERFLOW') {
    return fetchFailed(
      'too-large',
      `The answer of ${host} has more than ${MOST_HEADER_BYTES} bytes of headers.`,
      error,
    );
  }
  const lost = code === 'UND_ERR_SOCKET' || code === 'ECONNRESET' || code === 'EPIPE';
  const what = lost ? 'was cut off' : 'cannot be read';
  return fetchFailed('bad-answer', `The answer of ${host} ${what}${code === '' ? '' : ` (${code})`}.`, error);
}
