/** What a program writes to. */
export type StreamName = 'stdout' | 'stderr';

/** Bytes of one of the two. */
export interface Piece {
  readonly stream: StreamName;
  readonly bytes: Buffer;
}

/** Bytes that may wait for the end of the other stream's line: a whole read from a pipe may. */
const MOST_WAITING_BYTES = 128 * 1024;
const LINE_END = 0x0a;

/**
 * Puts what comes from two streams into one order: the order in which it came, but one stream does not interrupt a line
 * of the other. Each stream keeps its own order, and all of it is placed.
 */
export class OutputOrder {
  readonly #place: (piece: Piece) => void;
  #current: StreamName | undefined;
  /** The last line that was placed has no end yet. */
  #isOpen = false;
  /** Of the stream that is not the current one. */
  #waiting: Piece[] = [];
  #waitingBytes = 0;

  /** `place` is told the pieces in their order. */
  constructor(place: (piece: Piece) => void) {
    this.#place = place;
  }

  add(piece: Piece): void {
    if (piece.bytes.length === 0) return;
    const { stream, bytes } = piece;
    if (this.#isOpen && stream !== this.#current) {
      this.#waiting.push(piece);
      this.#waitingBytes += bytes.length;
      if (this.#waitingBytes > MOST_WAITING_BYTES) this.flush();
      return;
    }
    const end = this.#waiting.length === 0 ? 0 : bytes.indexOf(LINE_END) + 1;
    if (end === 0) {
      this.#put(piece);
      return;
    }
    this.#put({ stream, bytes: bytes.subarray(0, end) });
    this.flush();
    this.add({ stream, bytes: bytes.subarray(end) });
  }

  /** Places what waits, after a line that may have no end. */
  flush(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    for (const piece of waiting) this.#put(piece);
  }

  #put(piece: Piece): void {
    this.#current = piece.stream;
    this.#isOpen = piece.bytes.at(-1) !== LINE_END;
    this.#place(piece);
  }
}

/** The line that says which stream follows; `before`: what comes before it. */
export function markOf(stream: StreamName, before: string | Buffer): string {
  const last = before.at(-1);
  const isLineStart = last === undefined || last === '\n' || last === LINE_END;
  return `${isLineStart ? '' : '\n'}[${stream}]\n`;
}
