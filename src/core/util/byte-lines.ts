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
