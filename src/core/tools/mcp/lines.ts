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
