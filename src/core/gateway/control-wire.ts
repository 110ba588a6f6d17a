import { StringDecoder } from 'node:string_decoder';
import * as z from 'zod';

/** The control socket speaks lines of JSON; a change that old programs cannot read raises this number. */
export const PROTOCOL = 2;
/**
 * What the first programs expect the greeting to say. They leave at any other number, and the one that upgrades to this version has to
 * learn that it runs.
 */
export const FIRST_PROTOCOL = 1;

const id = z.int().min(0);

/** The server's first line. */
const hello = z.object({
  hello: z.object({ protocol: z.int(), version: z.string(), speaks: z.int().exactOptional() }),
});

/** What a client may write. */
export const clientFrame = z.union([
  z.object({ id, method: z.string(), params: z.unknown() }),
  z.object({ id, abort: z.literal(true) }),
  z.object({ id, answerTo: id, value: z.unknown() }),
]);

/** What the server writes after its first line. */
export const serverFrame = z.union([
  z.object({ id, event: z.unknown() }),
  z.object({ id, question: id, value: z.unknown() }),
  z.object({ id, withdrawn: id }),
  z.object({
    id,
    error: z.object({
      code: z.string(),
      message: z.string(),
      exitCode: z.int(),
      facts: z.record(z.string(), z.unknown()),
    }),
  }),
  z.object({ id, result: z.unknown() }),
  hello,
]);

export type ClientFrame = z.output<typeof clientFrame>;
export type ServerFrame = z.output<typeof serverFrame>;

export function encodeFrame(frame: ClientFrame | ServerFrame): string {
  return `${JSON.stringify(frame)}\n`;
}

/** Cuts a byte stream into lines. `push` returns undefined once a line is longer than `limit` characters. */
export class LineReader {
  readonly #decoder = new StringDecoder('utf8');
  readonly #limit: number;
  #pieces: string[] = [];
  #length = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(chunk: Buffer): readonly string[] | undefined {
    const [first = '', ...rest] = this.#decoder.write(chunk).split('\n');
    const lines: string[] = [];
    this.#add(first);
    for (const piece of rest) {
      if (this.#length > this.#limit) return undefined;
      lines.push(this.#pieces.join(''));
      this.#pieces = [];
      this.#length = 0;
      this.#add(piece);
    }
    return this.#length > this.#limit ? undefined : lines;
  }

  #add(piece: string): void {
    if (piece === '') return;
    this.#pieces.push(piece);
    this.#length += piece.length;
  }
}

/** The value of a JSON line, or undefined when it is none. */
export function decodeFrame<Frame>(schema: z.ZodType<Frame>, line: string): Frame | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return schema.safeParse(value).data;
  } catch {
    return undefined;
  }
}
