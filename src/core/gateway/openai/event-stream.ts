import { sleep, type Clock } from '../../util/clock.ts';

/** A line that keeps a quiet connection open; clients ignore it. */
const KEEP_ALIVE = ': the assistant is working\n\n';
const KEEP_ALIVE_MS = 15_000;

/** What a stream sends to the client. */
export const STREAM_HEADERS: Readonly<Record<string, string>> = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-cache, no-transform',
  // Told to a reverse proxy, so that it passes each piece on.
  'X-Accel-Buffering': 'no',
};

/** One event of a stream. */
export function eventOf(data: unknown, name?: string): string {
  return `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/**
 * Sends what a generator yields, one piece when the client has taken the one before. `onGone`: called when the client
 * closes the connection before the end.
 */
export function streamOf(
  events: AsyncGenerator<string, void, void>,
  { clock, onGone }: { readonly clock: Clock; readonly onGone: () => void },
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let waiting: Promise<IteratorResult<string, void>> | undefined;
  return new ReadableStream({
    async pull(controller) {
      waiting ??= events.next();
      const done = new AbortController();
      const quiet = sleep(clock, KEEP_ALIVE_MS, done.signal).then(
        () => null,
        () => null,
      );
      const next = await Promise.race([waiting, quiet]);
      done.abort();
      if (next === null) {
        controller.enqueue(encoder.encode(KEEP_ALIVE));
        return;
      }
      waiting = undefined;
      if (next.done === true) controller.close();
      else controller.enqueue(encoder.encode(next.value));
    },
    cancel() {
      onGone();
    },
  });
}
