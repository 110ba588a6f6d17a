import { DeadlineError, raceAbort, type Clock } from '../../util/clock.ts';
import { shortRound } from '../../util/wake.ts';

export interface WatchedFetchOptions {
  readonly clock: Clock;
  /** From the call to the first progress in the body. */
  readonly firstByteMs: number;
  /** Between two pieces of progress. */
  readonly idleMs: number;
}

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Limits for reading the rest of a stream after its last event, so that the connection can be used again. */
const LINGER_MS = 1_000;
const LINGER_BYTES = 65_536;

/**
 * `fetch` with deadlines that see through keep-alives: only `data:` lines of an event stream count as progress, not
 * comments and not `ping` events, and every line of JSON of a body of such lines; any other body must be complete within `firstByteMs`. A deadline rejects the call or
 * errors the body with a `DeadlineError` and closes the connection. Time in which no one reads does not count.
 * An answer that is left at its end keeps its connection, one that is left before closes it.
 */
export function createWatchedFetch(options: WatchedFetchOptions): Fetch {
  return async (input, init = {}) => {
    const own = new AbortController();
    const { signal: theirs } = init;
    const signal = theirs ? AbortSignal.any([theirs, own.signal]) : own.signal;
    const patience = new Patience(options, own, signal);
    let leave = (): void => own.abort(theirs?.reason);
    theirs?.addEventListener('abort', () => leave(), { once: true, signal: own.signal });
    if (theirs?.aborted === true) leave();
    const response = await patience.wait(fetch(input, { ...init, signal: own.signal }));
    if (response.body === null) return response;
    const reader: ReadableStreamDefaultReader<Uint8Array> = response.body.getReader();
    const isLines = /ndjson/u.test(response.headers.get('content-type') ?? '');
    const progress = isLines ? new JsonLineMeter() : new ProgressMeter();
    leave = () => {
      if (progress.isOver) void readOn(reader, own, options.clock);
      else own.abort(theirs?.reason);
      leave = () => {};
    };
    const body = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const { done, value } = await patience.wait(reader.read());
          if (done) {
            controller.close();
            return;
          }
          if (progress.feed(value)) patience.renew();
          await shortRound();
          controller.enqueue(value);
        },
        cancel: () => leave(),
      },
      { highWaterMark: 0 },
    );
    const { status, statusText, headers } = response;
    return new Response(body, { status, statusText, headers });
  };
}

/** Never rejects. */
async function readOn(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  own: AbortController,
  clock: Clock,
): Promise<void> {
  using _timer = clock.timer(LINGER_MS, () => own.abort());
  let bytes = 0;
  try {
    while (bytes <= LINGER_BYTES) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.length;
    }
    own.abort();
  } catch {
    // It was closed by the other side.
  }
}

/** How long a response may still make us wait. */
class Patience {
  readonly #options: WatchedFetchOptions;
  readonly #own: AbortController;
  readonly #signal: AbortSignal;
  #left: number;
  #limit: number;
  #what = 'the first byte of the answer';

  constructor(options: WatchedFetchOptions, own: AbortController, signal: AbortSignal) {
    this.#options = options;
    this.#own = own;
    this.#signal = signal;
    this.#limit = options.firstByteMs;
    this.#left = this.#limit;
  }

  async wait<T>(promise: Promise<T>): Promise<T> {
    const { clock } = this.#options;
    const expire = (): void => this.#own.abort(new DeadlineError(this.#what, this.#limit));
    using _timer = clock.timer(Math.max(0, this.#left), expire, { keepAlive: true });
    const before = clock.monotonic();
    try {
      return await raceAbort(promise, this.#signal);
    } finally {
      this.#left -= clock.monotonic() - before;
    }
  }

  renew(): void {
    this.#what = 'the next piece of the answer';
    this.#limit = this.#options.idleMs;
    this.#left = this.#limit;
  }
}

/** The same for lines of JSON, as Ollama sends them: all but white space is progress. */
class JsonLineMeter {
  /** The last line of an answer was read. A line that arrives in two pieces is not seen. */
  isOver = false;

  feed(bytes: Uint8Array): boolean {
    const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
    if (text.includes('"done":true')) this.isOver = true;
    return text.trim() !== '';
  }
}

const HEAD = 64;
/** How OpenAI, its Responses and Anthropic end; not every server sends `event:` lines. */
const LAST =
  /^(?:data:\s*\[DONE\]$|(?:event:\s*|data:\s*\{\s*"type"\s*:\s*")(?:message_stop|response\.(?:completed|incomplete|failed))(?:"|$))/u;
const LINE_FEED = 10;

/** Reads just enough of an event stream to tell an answer from a keep-alive. */
class ProgressMeter {
  /** The last event of an answer was read. */
  isOver = false;
  /** The first characters of the line being read. */
  #head = '';
  #inPing = false;

  /** Whether these bytes hold, end or continue a line of data. */
  feed(bytes: Uint8Array): boolean {
    let progress = false;
    for (let at = 0; at < bytes.length;) {
      const lineEnd = bytes.indexOf(LINE_FEED, at);
      const end = lineEnd === -1 ? bytes.length : lineEnd;
      const space = Math.min(end, at + HEAD - this.#head.length);
      for (; at < space; at += 1) this.#head += String.fromCharCode(bytes[at] ?? 0);
      if (lineEnd !== -1) {
        progress = this.#endLine() || progress;
        this.#head = '';
      } else if (this.#head.length === HEAD) {
        progress = this.#isData() || progress;
      }
      at = end + 1;
    }
    return progress;
  }

  #endLine(): boolean {
    const line = this.#head.trimEnd();
    if (line === '') this.#inPing = false;
    if (line.startsWith('event:')) this.#inPing = line.slice(6).trim() === 'ping';
    if (LAST.test(line)) this.isOver = true;
    return this.#isData();
  }

  #isData(): boolean {
    if (this.#inPing || !this.#head.startsWith('data:')) return false;
    return !/^data:\s*(?:$|\{\s*"type"\s*:\s*"ping")/u.test(this.#head);
  }
}
