import { readSync } from 'node:fs';
import { looksBinary } from '../../../util/file-ending.ts';
import { decodeText } from '../file-text.ts';

const CHUNK = 256 * 1024;
/** Bytes that are read of a line; the rest of a longer one is skipped. */
export const LONGEST_LINE = 16 * 1024 * 1024;
/** UTF-16 is read whole. */
const MOST_UTF16 = LONGEST_LINE;
/** What a log never holds, beside the NUL bytes that a crash or a rotation leaves in it. */
const CONTROLS = /[\u0001-\u0007\u000b\u000e-\u001a\u001c-\u001f]/u;
/** A larger share of NUL bytes, a run of them counted as one, is UTF-16 or data. */
const MOST_NULS = 0.25;

const UTF8 = new TextDecoder('utf-8', { fatal: true });
const OTHER = new TextDecoder('windows-1252');

/** Where bytes come from, in order; 0: the end. */
type Read = (buffer: Buffer) => number;

/** Reads a descriptor from where it is. */
export function reading(fd: number): Read {
  return (buffer) => readSync(fd, buffer, 0, buffer.length, null);
}

/** The buffer of all files of a thread: only one is read at a time. */
const chunk = Buffer.allocUnsafe(CHUNK);
const BLANK = Buffer.alloc(CHUNK);
/** Pieces of NUL bytes that are passed over: 1 GB. */
const MOST_BLANK = 4096;

/** How much of a file was given: nothing of a binary one, and of a line longer than `LONGEST_LINE` only its beginning. */
export type LinesRead = 'all' | 'beginnings' | 'binary';

/**
 * Gives each line of a text without its end and without NUL bytes, as long as `onLine` says true; the memory that it takes
 * does not grow with the file. `worthReading` may say of a file that fits into one piece that nothing is in it.
 */
export function eachLine(
  read: Read,
  onLine: (line: string) => boolean,
  worthReading: (bytes: Buffer) => boolean = () => true,
): LinesRead {
  let first = chunk.subarray(0, fill(read, chunk));
  // A log that was emptied while a program wrote to it begins with NUL bytes, up to the place where the program was.
  for (let n = 0; n < MOST_BLANK && first.equals(BLANK); n += 1) first = chunk.subarray(0, fill(read, chunk));
  const isWhole = first.length < CHUNK;
  if (isUtf16(first)) return eachOfUtf16(first, read, onLine);
  if (looksBinary(first) && !isTextWithNuls(first)) return 'binary';
  if (isWhole && !first.includes(0) && !worthReading(first)) return 'all';
  const pieces = new Pieces(onLine);
  for (let length = first.length; length > 0; length = isWhole ? 0 : read(chunk)) {
    if (!pieces.take(chunk.subarray(0, length))) return pieces.read;
  }
  pieces.end();
  return pieces.read;
}

/** A log may hold NUL bytes: where a machine lost power, or where the file was emptied while a program wrote to it. */
function isTextWithNuls(bytes: Buffer): boolean {
  const text = bytes.toString('latin1').replaceAll(/\0+/gu, '\0');
  const count = text.split('\0').length - 1;
  return count > 0 && count / text.length <= MOST_NULS && text.includes('\n') && !CONTROLS.test(text);
}

function fill(read: Read, buffer: Buffer): number {
  let length = 0;
  while (length < buffer.length) {
    const count = read(buffer.subarray(length));
    if (count === 0) break;
    length += count;
  }
  return length;
}

function isUtf16(bytes: Buffer): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

function eachOfUtf16(first: Buffer, read: Read, onLine: (line: string) => boolean): LinesRead {
  const pieces = [Buffer.from(first)];
  let size = first.length;
  for (let length = read(chunk); length > 0 && size <= MOST_UTF16; length = read(chunk)) {
    pieces.push(Buffer.from(chunk.subarray(0, length)));
    size += length;
  }
  const decoded = size > MOST_UTF16 ? { binary: true as const } : decodeText(Buffer.concat(pieces));
  if ('binary' in decoded) return 'binary';
  if (decoded.text !== '') eachIn(decoded.text.replace(/\r?\n$/u, ''), onLine);
  return 'all';
}

/** Puts lines together that reach over several pieces. */
class Pieces {
  readonly #onLine: (line: string) => boolean;
  /** The beginning of a line. */
  #open: Buffer[] = [];
  #length = 0;
  /** What was given so far. */
  read: LinesRead = 'all';

  constructor(onLine: (line: string) => boolean) {
    this.#onLine = onLine;
  }

  /** False when no more lines are wanted. */
  take(bytes: Buffer): boolean {
    const last = bytes.lastIndexOf(10);
    if (last === -1) {
      this.#keep(bytes);
      return true;
    }
    // Only the first of these lines can have begun before.
    const firstEnd = this.#length === 0 ? -1 : bytes.indexOf(10);
    if (firstEnd !== -1) {
      this.#keep(bytes.subarray(0, firstEnd));
      if (!this.end()) return false;
    }
    const continues = last <= firstEnd || eachIn(decode(bytes.subarray(firstEnd + 1, last)), this.#onLine);
    this.#keep(bytes.subarray(last + 1));
    return continues;
  }

  /** The line that is open, if there is one. */
  end(): boolean {
    if (this.#length === 0) return true;
    const line = decode(Buffer.concat(this.#open));
    this.#open = [];
    this.#length = 0;
    return this.#onLine(line.endsWith('\r') ? line.slice(0, -1) : line);
  }

  #keep(bytes: Buffer): void {
    const space = LONGEST_LINE - this.#length;
    if (bytes.length > space) this.read = 'beginnings';
    if (bytes.length === 0 || space <= 0) return;
    const kept = Buffer.from(bytes.subarray(0, space));
    this.#open.push(kept);
    this.#length += kept.length;
  }
}

/** Whole lines, the last one without its newline. */
function eachIn(text: string, onLine: (line: string) => boolean): boolean {
  for (let from = 0; from <= text.length;) {
    const newline = text.indexOf('\n', from);
    const end = newline === -1 ? text.length : newline;
    const isCrlf = end > from && text.charCodeAt(end - 1) === 13;
    if (!onLine(text.slice(from, isCrlf ? end - 1 : end))) return false;
    from = end + 1;
  }
  return true;
}

function decode(bytes: Buffer): string {
  return decoded(bytes).replaceAll('\0', '');
}

function decoded(bytes: Buffer): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    return OTHER.decode(bytes);
  }
}
