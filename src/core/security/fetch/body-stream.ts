import { fetchFailed } from './contract.ts';
import { fetchError, type Answer } from './exchange.ts';
import type { Target } from './target.ts';

/** Statuses of responses without a body. */
const EMPTY = new Set([204, 205, 304]);

/**
 * Turns an answer into a standard `Response` whose body is streamed; reading it to its end, cancelling it or a failure
 * closes the connection. Throws `fetch-failed` if it is compressed although that was not requested.
 */
export async function bodyStreamOf(
  answer: Answer,
  { target, maxBytes }: { readonly target: Target; readonly maxBytes: number },
): Promise<Response> {
  const { status, headers } = answer;
  const encoding = (headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding !== 'identity' && encoding !== '') {
    await answer[Symbol.asyncDispose]();
    throw fetchFailed('bad-answer', `The answer of ${target.url.host} is compressed, although that was not requested.`);
  }
  if (EMPTY.has(status)) {
    await answer[Symbol.asyncDispose]();
    return new Response(null, { status, headers });
  }
  const isEvents = (headers['content-type'] ?? '').toLowerCase().includes('text/event-stream');
  async function* chunks(): AsyncGenerator<Uint8Array> {
    let size = 0;
    try {
      for await (const chunk of answer.body as AsyncIterable<Uint8Array>) {
        // An empty line ends an event; its exact place in the chunk does not matter for a limit.
        size = isEvents && hasEmptyLine(chunk) ? 0 : size + chunk.length;
        if (size > maxBytes) {
          throw fetchFailed('too-large', `The answer of ${target.url.host} is longer than ${maxBytes} bytes.`);
        }
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
