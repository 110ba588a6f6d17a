import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { AppError, errorCode } from '../../util/errors.ts';
import { fetchFailed, fetchRefused } from './contract.ts';
import type { FetchRequest } from './request.ts';
import type { Target } from './target.ts';

/** The status, headers and unread body of an HTTP response. Disposing closes its connection. */
export interface Answer extends AsyncDisposable {
  readonly status: number;
  /** Names in lower case; repeated ones joined with a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** Not unpacked yet. Read it to its end, or dispose of the answer. */
  readonly body: Readable;
}

const MOST_HEADER_BYTES = 32_768;
const ACCEPT_ENCODING = 'gzip, br';

/**
 * Sends one request over a connected socket; resolves when the headers of the answer have arrived. Disposing of the
 * answer closes the connection. Throws `fetch-failed`, `fetch-refused` for an invalid request, or the signal's reason.
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
  // The default export: in the bundle a dynamically imported CommonJS package has no named ones.
  const { Client } = (await import('undici')).default;
  let given = false;
  const client = new Client(target.url.origin, {
    // The checked connection is the only one this client ever gets; undici expects the callback asynchronously.
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

/** The error for a failure while an answer was awaited or read. */
export function fetchError(error: unknown, { url: { host } }: Target): AppError {
  if (error instanceof AppError) return error;
  const code = errorCode(error) ?? '';
  if (code === 'UND_ERR_INVALID_ARG') return fetchRefused('This request was refused: it is not a valid HTTP request.');
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
