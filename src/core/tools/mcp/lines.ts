import { StringDecoder } from 'node:string_decoder';
import type { Clock } from '../../util/clock.ts';
import { cut } from '../../util/text.ts';

const LONGEST_LINE = 2_000;

/** Cuts a stream into lines; a line that does not end is cut at 2,000 characters. */
export class LineSplitter {
  readonly #decoder = new StringDecoder('utf8');
  readonly #onLine: (line: string) => void;
  #rest = '';

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    const lines = (this.#rest + this.#decoder.write(chunk)).split(/\r?\n/u);
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > LONGEST_LINE) {
      lines.push(this.#rest);
      this.#rest = '';
    }
    for (const line of lines) if (line.trim() !== '') this.#onLine(cut(line, LONGEST_LINE));
  }

  end(): void {
    if (this.#rest.trim() !== '') this.#onLine(this.#rest);
    this.#rest = '';
  }
}

/** Cuts a stream of bytes into lines without looking at any byte twice. */
export class ByteLines {
  readonly #mostBytes: number;
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** The lines that end in this chunk; undefined once a line is longer than it may be. */
  push(chunk: Buffer): readonly string[] | undefined {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      lines.push(Buffer.concat([...this.#pieces, chunk.subarray(from, end)]).toString('utf8'));
      this.#pieces = [];
      this.#size = 0;
      from = end + 1;
    }
    if (from < chunk.length) this.#pieces.push(chunk.subarray(from));
    this.#size += chunk.length - from;
    return this.#size > this.#mostBytes ? undefined : lines;
  }
}

interface RateLimitOptions {
  readonly clock: Clock;
  readonly most: number;
  readonly windowMs: number;
  readonly onDropped: (count: number) => void;
}

/** Lets `most` through in each window; then `onDropped` hears at the next one how many were held back. */
export class RateLimit {
  readonly #options: RateLimitOptions;
  #since = -Infinity;
  #passed = 0;

  constructor(options: RateLimitOptions) {
    this.#options = options;
  }

  passes(): boolean {
    const { clock, most, windowMs, onDropped } = this.#options;
    const now = clock.monotonic();
    if (now - this.#since > windowMs) {
      if (this.#passed > most) onDropped(this.#passed - most);
      this.#since = now;
      this.#passed = 0;
    }
    this.#passed += 1;
    return this.#passed <= most;
  }
}
