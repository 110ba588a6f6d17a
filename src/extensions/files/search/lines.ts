import { readSync } from 'node:fs';
import { CONTROLS, decodeText, looksBinary } from '../../../core/api-paths.ts';

/** Bytes that are searched of a line; the rest of a longer one is skipped. UTF-16 is read whole, up to as much. */
export const LONGEST_LINE = 16 * 1024 * 1024;
const CHUNK = 256 * 1024;
/** The buffer of all files of a thread: only one is read at a time. */
const buffer = Buffer.allocUnsafe(LONGEST_LINE);
const BLANK = Buffer.alloc(CHUNK);
/** Chunks of NUL bytes that are passed over at the beginning of a file: 1 GB. */
const MOST_BLANK = 4096;
/** A larger share of NUL bytes, a run of them counted as one, is UTF-16 or data. */
const MOST_NULS = 0.25;

const UTF8 = new TextDecoder('utf-8', { fatal: true });
const OTHER = new TextDecoder('windows-1252');

/** How much of a file was given: nothing of a binary one, and of a line longer than `LONGEST_LINE` only its beginning. */
export type LinesRead = 'all' | 'beginnings' | 'binary';

/**
 * Gives the lines of a file in blocks, without line ends and NUL bytes, as long as `onLines` says true. Its memory does not
 * grow with the file.
 */
export function readLines(fd: number, onLines: (lines: readonly string[]) => boolean): LinesRead {
  let fresh = readTo(fd, 0);
  // A log that was emptied while a program wrote to it begins with NUL bytes, up to the place where the program was.
  for (let n = 0; n < MOST_BLANK && buffer.subarray(0, fresh).equals(BLANK); n += 1) fresh = readTo(fd, 0);
  const first = buffer.subarray(0, fresh);
  if (isUtf16(first)) return readUtf16(fd, fresh, onLines);
  if (looksBinary(first) && !isTextWithNuls(first)) return 'binary';
  let read: LinesRead = 'all';
  /** Bytes of a line that has no end yet, at the beginning of the buffer. */
  let kept = 0;
  let isSkipping = false;
  for (; fresh > 0; fresh = readTo(fd, kept)) {
    let length = kept + fresh;
    if (isSkipping) {
      const newline = buffer.subarray(0, length).indexOf(10);
      if (newline === -1) continue;
      isSkipping = false;
      length = moved(newline + 1, length);
    }
    const newline = buffer.subarray(kept, length).lastIndexOf(10);
    const isTooLong = newline === -1 && length === buffer.length;
    if (newline === -1 && !isTooLong) {
      kept = length;
      continue;
    }
    const end = isTooLong ? length : kept + newline;
    if (!onLines(linesIn(decode(buffer.subarray(0, end))))) return read;
    if (isTooLong) read = 'beginnings';
    isSkipping = isTooLong;
    kept = isTooLong ? 0 : moved(end + 1, length);
  }
  if (kept > 0) onLines(linesIn(decode(buffer.subarray(0, kept))));
  return read;
}

/** Reads the next chunk to this place of the buffer; returns its bytes, 0 at the end. */
function readTo(fd: number, at: number): number {
  return readSync(fd, buffer, at, Math.min(CHUNK, buffer.length - at), null);
}

/** Moves a part of the buffer to its beginning; returns its bytes. */
function moved(from: number, to: number): number {
  buffer.copyWithin(0, from, to);
  return to - from;
}

function readUtf16(fd: number, first: number, onLines: (lines: readonly string[]) => boolean): LinesRead {
  let length = first;
  for (let fresh = readTo(fd, length); fresh > 0; fresh = readTo(fd, length)) length += fresh;
  const decoded = length === buffer.length ? { binary: true as const } : decodeText(buffer.subarray(0, length));
  if ('binary' in decoded) return 'binary';
  if (decoded.text !== '') onLines(linesIn(decoded.text.replace(/\r?\n$/u, '')));
  return 'all';
}

/** Of whole lines, the last one without its newline. */
function linesIn(text: string): readonly string[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  const last = lines.length - 1;
  lines[last] = lines[last]?.replace(/\r$/u, '') ?? '';
  return lines;
}

function isUtf16(bytes: Buffer): boolean {
  return (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
}

/** A log may hold NUL bytes: where a machine lost power, or where the file was emptied while a program wrote to it. */
function isTextWithNuls(bytes: Buffer): boolean {
  const text = bytes.toString('latin1').replaceAll(/\0+/gu, '\0');
  const count = text.split('\0').length - 1;
  return count > 0 && count / text.length <= MOST_NULS && text.includes('\n') && !CONTROLS.test(text);
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
