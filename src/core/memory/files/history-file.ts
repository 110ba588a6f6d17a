import { dirname } from 'node:path';
import { AppendFile } from '../../storage/append-file.ts';
import type { Disk } from '../../storage/disk.ts';
import { hashOfBytes, openOrdinary, unreadable, type MemoryText } from './memory-file.ts';
import { errorMessage } from '../../util/errors.ts';
import { localMinute } from '../../util/time-zone.ts';

export interface HistoryEntry {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** Where it comes from, without brackets, e.g. `telegram:-100, guest`. */
  readonly tag?: string;
  readonly text: string;
}

/** Bytes at the end of the file in which a paragraph counts as written. */
const TAIL = 262_144;
/** Bytes of the end that a person is shown. */
const SHOWN = 200_000;
const LONGEST_TAG = 200;
const NEWLINE = 0x0a;

/** The end of the tag of a paragraph that has untrusted content. */
export const STRANGERS_TAG = 'words of strangers';

/** Whether a paragraph of HISTORY.md, or one of several, is tagged as having untrusted content. */
export function hasStrangersTag(text: string): boolean {
  return /^\[\d{4}-\d\d-\d\d \d\d:\d\d\] \((?:[^()\n]*, )?words of strangers\)/mu.test(text);
}

/**
 * An entry as one paragraph, without a line break at its end: `[2026-11-21 05:10] (tag) text`, local time of the zone
 * (null: the machine's). Empty lines inside are folded away; a line that begins like a paragraph is indented.
 * Undefined for a text of nothing but white space.
 */
export function renderHistory({ at, tag, text }: HistoryEntry, timezone: string | null): string | undefined {
  const lines = text
    .toWellFormed()
    .split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/u)
    .map((line) => line.replace(/[\u0000-\u0008\u000e-\u001f\u007f]/gu, '').trimEnd())
    .filter((line) => line !== '');
  if (lines.length === 0) return undefined;
  const label = (tag ?? '')
    .toWellFormed()
    .replace(/[\s()\p{Cc}]+/gu, ' ')
    .trim()
    .slice(0, LONGEST_TAG);
  const [first = '', ...rest] = lines;
  const head = `[${localMinute(at, timezone)}]${label === '' ? '' : ` (${label})`} ${first.trimStart()}`;
  return [head, ...rest.map((line) => (/^\s*\[\d{4}-/u.test(line) ? `  ${line.trimStart()}` : line))].join('\n');
}

/** HISTORY.md: paragraphs with an empty line between them, and it only grows. */
export class HistoryFile {
  readonly #path: string;
  readonly #disk: Disk;

  constructor(path: string, disk: Disk) {
    this.#path = path;
    this.#disk = disk;
  }

  /**
   * Appends rendered paragraphs; durable when it resolves. Paragraphs that the last 256 KiB contain already are not
   * written again, so that this may be repeated after a crash; a partly written paragraph is removed first.
   */
  async append(paragraphs: readonly string[]): Promise<void> {
    const bytes = paragraphs.reduce((sum, paragraph) => sum + Buffer.byteLength(paragraph), 0);
    const tail = await readTail(this.#path, Math.max(TAIL, 2 * bytes));
    const there = new Set(
      tail.bytes
        .toString('utf8')
        .replaceAll('\r\n', '\n')
        .split(/\n{2,}/u)
        .map(trimBreaks),
    );
    const missing = [...new Set(paragraphs)].filter((paragraph) => !there.has(paragraph));
    const [first] = missing;
    if (first === undefined) return paragraphs.length === 0 ? undefined : await this.#sync();
    const torn = tornBytes(tail.bytes, Buffer.from(first));
    if (torn > 0) await this.#disk.truncate(this.#path, tail.size - torn);
    const before = tail.bytes.subarray(0, tail.bytes.length - torn);
    await this.#write(`${gapAfter(before)}${missing.join('\n\n')}\n`);
  }

  /** The newest paragraphs, at most 200,000 bytes, and the hash of these bytes. */
  async end(): Promise<MemoryText> {
    const { bytes, size } = await readTail(this.#path, SHOWN);
    const text = bytes.toString('utf8').replaceAll('\r\n', '\n');
    const start = size > bytes.length ? text.indexOf('\n\n') + 2 : 0;
    return { text: text.slice(Math.max(0, start)), hash: hashOfBytes(bytes) };
  }

  /** What a process that was killed wrote may not be on the disk yet. */
  async #sync(): Promise<void> {
    const handle = await openOrdinary(this.#path);
    try {
      await handle?.datasync();
    } finally {
      await handle?.close();
    }
  }

  async #write(text: string): Promise<void> {
    await this.#disk.ensure(dirname(this.#path));
    // Opened each time: a person's editor may put another file in its place.
    const file = new AppendFile(this.#path, this.#disk);
    try {
      await file.append(Buffer.from(text));
    } finally {
      await file.close();
    }
  }
}

interface Tail {
  readonly bytes: Buffer;
  /** Of the whole file. */
  readonly size: number;
}

async function readTail(path: string, most: number): Promise<Tail> {
  const handle = await openOrdinary(path);
  if (handle === undefined) return { bytes: Buffer.alloc(0), size: 0 };
  try {
    const { size } = await handle.stat();
    const length = Math.min(size, most);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length);
    return { bytes: buffer.subarray(0, bytesRead), size };
  } catch (error) {
    throw unreadable(path, `cannot be read (${errorMessage(error)})`, error);
  } finally {
    await handle.close();
  }
}

/** How many bytes at the end are the beginning of `paragraph` and no more. */
function tornBytes(tail: Buffer, paragraph: Buffer): number {
  const start = tail.lastIndexOf('\n\n') + 2;
  const last = tail.subarray(tail.includes('\n\n') ? start : 0);
  const isBeginning = last.length < paragraph.length && paragraph.subarray(0, last.length).equals(last);
  return isBeginning ? last.length : 0;
}

/** What makes an empty line at the end of the file; the last line is ended by the writer. */
function gapAfter(tail: Buffer): string {
  if (tail.length === 0) return '';
  if (tail.at(-1) !== NEWLINE) return '\n';
  return tail.length === 1 || tail.at(-2) === NEWLINE ? '' : '\n';
}

function trimBreaks(text: string): string {
  return text.replace(/^\n+|\n+$/gu, '');
}
