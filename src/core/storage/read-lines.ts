import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';

export interface LineOfFile {
  /** Without its newline. */
  readonly bytes: Buffer;
  /** Where it begins in the file. */
  readonly offset: number;
  /** True for a last line without a newline: its write was cut off. */
  readonly torn: boolean;
}

export interface ReadLinesOptions {
  /** @default 65536 */
  readonly chunkBytes?: number;
  /** Reads as if the file ended here. @default its size */
  readonly end?: number;
  /** Stops after the chunk that reaches this many bytes and leaves out a line that is incomplete then. @default Infinity */
  readonly mostBytes?: number;
  /** Called after each read with its number of bytes. */
  readonly onRead?: (bytes: number) => void;
}

export const NEWLINE = 0x0a;

/**
 * The lines of a file, last line first. Reads chunk by chunk as lines are taken, so that the newest lines cost the same
 * in a small and in a huge file.
 */
export async function* readLinesBackwards(path: string, options: ReadLinesOptions = {}): AsyncGenerator<LineOfFile> {
  const chunkBytes = options.chunkBytes ?? 65_536;
  const handle = await open(path, 'r');
  try {
    let start = options.end ?? (await handle.stat()).size;
    /** Pieces of the line whose beginning was not reached yet, last piece first. */
    let pieces: Buffer[] = [];
    let sawNewline = false;
    const first = start - (options.mostBytes ?? Infinity);
    while (start > 0) {
      if (start <= first) return;
      const length = Math.min(chunkBytes, start);
      start -= length;
      const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, start);
      options.onRead?.(bytesRead);
      let end = bytesRead;
      for (let at = lastNewline(buffer, end); at >= 0; at = lastNewline(buffer, end)) {
        const bytes = join(buffer.subarray(at + 1, end), pieces);
        if (sawNewline || bytes.length > 0) yield { bytes, offset: start + at + 1, torn: !sawNewline };
        sawNewline = true;
        pieces = [];
        end = at;
      }
      pieces.push(buffer.subarray(0, end));
    }
    const bytes = join(Buffer.alloc(0), pieces);
    if (sawNewline || bytes.length > 0) yield { bytes, offset: 0, torn: !sawNewline };
  } finally {
    await handle.close();
  }
}

/** The bytes of a file from an offset to its end. */
export async function readFrom(path: string, offset: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of createReadStream(path, { start: offset })) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The first line of a file without its newline; undefined when it is not complete within 64 KiB. */
export async function readFirstLine(path: string): Promise<Buffer | undefined> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(65_536), 0, 65_536, 0);
    const end = buffer.subarray(0, bytesRead).indexOf(NEWLINE);
    return end < 0 ? undefined : buffer.subarray(0, end);
  } finally {
    await handle.close();
  }
}

function lastNewline(buffer: Buffer, end: number): number {
  return end === 0 ? -1 : buffer.lastIndexOf(NEWLINE, end - 1);
}

function join(first: Buffer, lastFirst: readonly Buffer[]): Buffer {
  return lastFirst.length === 0 ? first : Buffer.concat([first, ...lastFirst.toReversed()]);
}
