import type { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fetchFailed } from './contract.ts';
import { fetchError, type Answer } from './exchange.ts';
import type { Target } from './target.ts';

/** Bytes by which compressed data may exceed the limit of the unpacked body. */
const PACKED_SLACK = 1_048_576;
/** Statuses of responses without a body. */
const EMPTY = new Set([204, 205, 304]);

/**
 * Reads a body up to `maxBytes` of unpacked data (`truncated`: there was more), and holds little more than that in memory.
 * One of the encodings that were asked for is unpacked; any other is a `bad-answer`.
 */
export async function readBody(
  { body, headers }: Answer,
  target: Target,
  maxBytes: number,
): Promise<{ readonly bytes: Uint8Array; readonly truncated: boolean }> {
  const { host } = target.url;
  const parts: Uint8Array[] = [];
  let size = 0;
  let truncated = false;

  async function* packed(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    let received = 0;
    for await (const chunk of chunks) {
      received += chunk.length;
      if (received > maxBytes + PACKED_SLACK)
        throw fetchFailed('too-large', `The answer of ${host} has too much compressed data.`);
      yield chunk;
    }
  }
  async function collect(chunks: AsyncIterable<Uint8Array>): Promise<void> {
    for await (const chunk of chunks) {
      const space = maxBytes - size;
      truncated = chunk.length > space;
      parts.push(chunk.subarray(0, space));
      size += Math.min(chunk.length, space);
      if (truncated) return;
    }
  }

  try {
    const unpacked = await unpackerFor(headers['content-encoding'], host);
    await (unpacked === null ? pipeline(body, collect) : pipeline(body, packed, unpacked, collect));
  } catch (error) {
    // Stopping early makes the streams fail, which is no error here.
    if (!truncated) throw fetchError(error, target);
  }
  return { bytes: Buffer.concat(parts, size), truncated };
}

/** A stream that its server cut off still gives what was received, as in browsers. */
async function unpackerFor(encoding: string | undefined, host: string): Promise<Transform | null> {
  const name = (encoding ?? '').trim().toLowerCase();
  if (name === '' || name === 'identity') return null;
  const { constants, createBrotliDecompress, createGunzip } = await import('node:zlib');
  if (name === 'gzip') return createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
  if (name === 'br') return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  throw fetchFailed('bad-answer', `The answer of ${host} has a compression that is not supported.`);
}

/**
 * Turns an answer into a standard `Response` whose body is streamed; reading it to its end, cancelling it or a failure
 * closes the connection. Of an event stream `maxBytes` limits each event. Throws `fetch-failed` if it is compressed although
 * that was not requested.
 */
export async function streamOf(answer: Answer, target: Target, maxBytes: number): Promise<Response> {
  const { status, headers } = answer;
  const encoding = (headers['content-encoding'] ?? '').trim().toLowerCase();
  const isPacked = encoding !== '' && encoding !== 'identity';
  if (isPacked || EMPTY.has(status)) await answer[Symbol.asyncDispose]();
  if (isPacked)
    throw fetchFailed('bad-answer', `The answer of ${target.url.host} is compressed, although that was not requested.`);
  if (EMPTY.has(status)) return new Response(null, { status, headers });
  const isEvents = (headers['content-type'] ?? '').toLowerCase().includes('text/event-stream');
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let size = 0;
    try {
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        // An empty line ends an event; its exact place in the chunk does not matter for a limit.
        size = isEvents && hasEmptyLine(chunk) ? 0 : size + chunk.length;
        if (size > maxBytes)
          throw fetchFailed('too-large', `The answer of ${target.url.host} is longer than ${maxBytes} bytes.`);
        yield chunk;
      }
    } catch (error) {
      throw fetchError(error, target);
    } finally {
      await answer[Symbol.asyncDispose]();
    }
  }
  return new Response(ReadableStream.from(chunks()), { status, headers });
}

function hasEmptyLine(chunk: Uint8Array): boolean {
  const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  return text.includes('\n\n') || text.includes('\r\n\r\n') || text.includes('\r\r');
}
