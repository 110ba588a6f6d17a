import { cut, encodingsOf } from '../../../core/api-child.ts';

/** Which lines of a text are wanted. */
export interface PageWish {
  /** From 1. */
  readonly offset: number;
  /** The first character of the line at `offset`, from 1; for lines that are longer than a page. @default 1 */
  readonly column?: number;
  /** Most lines. */
  readonly limit: number;
  /** Most characters; one line comes in any case. */
  readonly pageChars: number;
}

export interface LinePage {
  /** Lines with their numbers, a tab between. */
  readonly text: string;
  /** Lines of the whole text. */
  readonly lines: number;
  /** The first line after this page; null: there is none. */
  readonly next: number | null;
}

const LONGEST_LINE = 2_000;

/** A page of a text. Long lines are cut and say where they continue. An offset behind the end gives an empty page. */
export function linePage(text: string, wish: PageWish): LinePage {
  const scanner = new LineScanner(wish);
  scanner.push(text);
  return scanner.end();
}

const PIECE = 1024 ** 2;

/** A page of a text that would take several times its bytes as one string. `format` null: it is binary. */
export function largePage(bytes: Uint8Array, wish: PageWish) {
  for (const encoding of encodingsOf(Buffer.from(bytes.subarray(0, PIECE)), bytes.length)) {
    try {
      const decoder = new TextDecoder(encoding, { fatal: encoding === 'utf-8' });
      const scanner = new LineScanner(wish);
      for (let at = 0; at < bytes.length; at += PIECE)
        scanner.push(decoder.decode(bytes.subarray(at, at + PIECE), { stream: true }));
      scanner.push(decoder.decode());
      return { ...scanner.end(), encoding, format: 'text', title: null, cut: false };
    } catch (error) {
      // The text is not valid UTF-8: try the next encoding.
      if (!(error instanceof TypeError)) throw error;
    }
  }
  return { text: '', format: null, title: null, cut: false };
}

/** A page of a text that comes in pieces: holds the page and the beginning of one line, never the text. */
class LineScanner {
  readonly #wish: PageWish;
  readonly #longest: number;
  readonly #shown: string[] = [];
  #used = 0;
  #isFull = false;
  /** Lines that have ended. */
  #lines = 0;
  /** Of the line that is open: its beginning, its length so far and its last character. */
  #head = '';
  #length = 0;
  #last = '';

  constructor(wish: PageWish) {
    this.#wish = wish;
    // Somebody who goes on within a line wants all of it, in as few pages as possible.
    this.#longest = wish.column === undefined ? Math.min(LONGEST_LINE, wish.pageChars) : wish.pageChars;
  }

  push(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.#add(text, from, end);
      if (this.#last === '\r') this.#length -= 1;
      this.#endLine();
      from = end + 1;
    }
    this.#add(text, from, text.length);
  }

  end(): LinePage {
    if (this.#length > 0) this.#endLine();
    const next = this.#wish.offset + this.#shown.length;
    return { text: this.#shown.join('\n'), lines: this.#lines, next: next <= this.#lines ? next : null };
  }

  #add(text: string, from: number, to: number): void {
    if (to === from) return;
    // One more than is shown, so that no pair of surrogates is taken apart, and one for the end of the line.
    const space = this.#longest + 2 - this.#head.length;
    const start = from + Math.max(0, this.#skipped() - this.#length);
    if (space > 0 && start < to && this.#isWanted()) this.#head += text.slice(start, Math.min(to, start + space));
    this.#length += to - from;
    this.#last = text.charAt(to - 1);
  }

  #isWanted(): boolean {
    const { offset, limit } = this.#wish;
    return !this.#isFull && this.#lines >= offset - 1 && this.#lines < offset - 1 + limit;
  }

  /** Characters left out in front of the open line. */
  #skipped(): number {
    return this.#lines === this.#wish.offset - 1 ? (this.#wish.column ?? 1) - 1 : 0;
  }

  #endLine(): void {
    if (this.#isWanted()) this.#show(this.#head.slice(0, Math.max(0, this.#length - this.#skipped())));
    this.#lines += 1;
    this.#head = '';
    this.#length = 0;
    this.#last = '';
  }

  #show(line: string): void {
    const number = this.#lines + 1;
    const isLong = this.#length - this.#skipped() > this.#longest;
    const start = cut(line, this.#longest);
    const column = this.#skipped() + start.length + 1;
    const more = `… (${this.#length} characters; for the rest, read offset ${number} with column ${column})`;
    const numbered = `${number}\t${isLong ? start + more : line}`;
    this.#used += numbered.length + 1;
    this.#isFull = this.#used > this.#wish.pageChars && this.#shown.length > 0;
    if (!this.#isFull) this.#shown.push(numbered);
  }
}
