import { once } from 'node:events';
import { request as ask, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
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
/** Bytes by which compressed data may exceed the limit of the unpacked body. */
const PACKED_SLACK = 1_048_576;
/** Statuses of responses without a body. */
const EMPTY = new Set([204, 205, 304]);

/**
 * Sends one request over a connected socket; resolves when the headers of the answer have arrived. Disposing of the
 * answer closes the connection. Throws `fetch-failed`, `fetch-refused` for an invalid request, or the signal's reason.
 */
export async function exchange(
  socket: Socket,
  { target, request, signal }: { target: Target; request: FetchRequest; signal: AbortSignal },
): Promise<Answer> {
  const { url } = target;
  const { method, headers, body: sent } = request;
  // Node frames the body of a DELETE or OPTIONS only where its length is given.
  const framing = sent === null ? {} : { 'content-length': Buffer.byteLength(sent) };
  try {
    const asked = ask({
      createConnection: () => socket,
      method,
      path: url.pathname + url.search,
      headers: { host: url.host, ...headers, ...framing },
      maxHeaderSize: MOST_HEADER_BYTES,
      signal,
    });
    asked.on('error', () => {});
    asked.on('upgrade', () => asked.emit('error', new Error('it changes the protocol')));
    asked.end(sent ?? undefined);
    const [body] = (await once(asked, 'response')) as [IncomingMessage];
    body.on('error', () => {});
    const joined = Object.entries(body.headersDistinct).map(
      ([name, values = []]) => [name, values.join(', ')] as const,
    );
    const close = async (): Promise<void> => void asked.destroy();
    return { status: body.statusCode ?? 0, headers: Object.fromEntries(joined), body, [Symbol.asyncDispose]: close };
  } catch (error) {
    socket.destroy();
    signal.throwIfAborted();
    throw fetchError(error, target);
  }
}

/** The error for a failure while an answer was awaited or read. */
function fetchError(error: unknown, { url: { host } }: Target): AppError {
  if (error instanceof AppError) return error;
  const code = errorCode(error) ?? '';
  if (code.startsWith('ERR_INVALID_') || code === 'ERR_UNESCAPED_CHARACTERS')
    return fetchRefused('This request was refused: it is not a valid HTTP request.');
  if (code === 'HPE_HEADER_OVERFLOW') {
    const much = `more than ${MOST_HEADER_BYTES} bytes of headers`;
    return fetchFailed('too-large', `The answer of ${host} has ${much}.`, error);
  }
  const lost = code === 'ECONNRESET' || code === 'EPIPE';
  const what = lost ? 'was cut off' : 'cannot be read';
  return fetchFailed('bad-answer', `The answer of ${host} ${what}${code === '' ? '' : ` (${code})`}.`, error);
}

/**
 * Reads a body up to `maxBytes` of unpacked data (`truncated`: there was more), and holds little more than that in memory.
 * One of the encodings that were asked for is unpacked; any other is a `bad-answer`.
 */
export async function readBody(
  answer: Answer,
  target: Target,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly truncated: boolean }> {
  const parts: Uint8Array[] = [];
  let space = maxBytes;
  let truncated = false;
  try {
    for await (const chunk of await unpacked(answer, target, maxBytes)) {
      truncated = chunk.length > space;
      parts.push(chunk.subarray(0, space));
      space -= chunk.length;
      if (truncated) break;
    }
  } catch (error) {
    throw fetchError(error, target);
  }
  return { bytes: Buffer.concat(parts), truncated };
}

/** A stream that its server cut off still gives what was received, as in browsers. */
async function unpacked(
  { body, headers }: Answer,
  { url: { host } }: Target,
  maxBytes: number,
): Promise<AsyncIterable<Uint8Array>> {
  const encoding = encodingOf(headers);
  if (encoding === '') return body;
  const { constants, createBrotliDecompress, createGunzip } = await import('node:zlib');
  const unpackers = {
    gzip: () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
    br: () => createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH }),
  };
  if (encoding !== 'gzip' && encoding !== 'br')
    throw fetchFailed('bad-answer', `The answer of ${host} has a compression that is not supported.`);
  const packed = limited(body, maxBytes + PACKED_SLACK, `The answer of ${host} has too much compressed data.`);
  // Its failures reach who reads.
  return pipeline(packed, unpackers[encoding](), () => {});
}

/** As the server says it; empty: it is not compressed. */
function encodingOf(headers: Answer['headers']): string {
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  return encoding === 'identity' ? '' : encoding;
}

/** Throws behind so many bytes; `startsAnew` begins to count again. */
async function* limited(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
  sentence: string,
  startsAnew: (chunk: Uint8Array) => boolean = () => false,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of chunks) {
    size = startsAnew(chunk) ? 0 : size + chunk.length;
    if (size > maxBytes) throw fetchFailed('too-large', sentence);
    yield chunk;
  }
}

/**
 * Turns an answer into a standard `Response` whose body is streamed; reading it to its end, cancelling it or a failure
 * closes the connection. Of an event stream `maxBytes` limits each event. Throws `fetch-failed` if it is compressed although
 * that was not requested.
 */
export async function streamOf(answer: Answer, target: Target, maxBytes: number): Promise<Response> {
  const { status, headers } = answer;
  const { host } = target.url;
  const isPacked = encodingOf(headers) !== '';
  if (isPacked || EMPTY.has(status)) await answer[Symbol.asyncDispose]();
  if (isPacked)
    throw fetchFailed('bad-answer', `The answer of ${host} is compressed, although that was not requested.`);
  if (EMPTY.has(status)) return new Response(null, { status, headers });
  const isEvents = (headers['content-type'] ?? '').toLowerCase().includes('text/event-stream');
  const tooLong = `The answer of ${host} is longer than ${maxBytes} bytes.`;
  async function* chunks(): AsyncGenerator<Uint8Array> {
    await using _answer = answer;
    try {
      // An empty line ends an event; its exact place in the chunk does not matter for a limit.
      yield* limited(answer.body, maxBytes, tooLong, (chunk) => isEvents && hasEmptyLine(chunk));
    } catch (error) {
      throw fetchError(error, target);
    }
  }
  return new Response(ReadableStream.from(chunks()), { status, headers });
}

function hasEmptyLine(chunk: Uint8Array): boolean {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return text.includes('\n\n') || text.includes('\r\n\r\n') || text.includes('\r\r');
}
