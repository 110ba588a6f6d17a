import { withoutControls } from '../output-ends.ts';

/** A part of an output. */
export interface Page {
  readonly text: string;
  /** Bytes that it stands for. */
  readonly length: number;
  /** Nothing more can be read now. */
  readonly isLast: boolean;
}

/** Whether something comes after a part: `now` there is, `later` there may be. */
export type Follows = 'now' | 'later' | 'never';

/**
 * The beginning of `bytes` as text of about `chars` characters at most. Before what follows it ends with a whole
 * character; before what is there now, with a whole line if there is one in its second half.
 */
export function pageOf(bytes: Buffer, chars: number, after: Follows): Page {
  let length = bytes.length;
  let follows = after;
  for (;;) {
    const part = bytes.subarray(0, wholeLength(bytes.subarray(0, length), follows));
    const text = withoutControls(part);
    if (text.length <= chars || part.length <= 1) return { text, length: part.length, isLast: follows !== 'now' };
    length = Math.max(1, Math.floor((part.length * chars) / text.length) - 1);
    follows = 'now';
  }
}

/** How many bytes at the beginning belong to a character that began before them. */
export function brokenStart(bytes: Buffer): number {
  let skip = 0;
  while (skip < 3 && isContinuation(bytes[skip])) skip += 1;
  return skip;
}

function wholeLength(bytes: Buffer, follows: Follows): number {
  if (follows === 'never') return bytes.length;
  const line = bytes.lastIndexOf(0x0a) + 1;
  if (follows === 'now' && line > bytes.length / 2) return line;
  return bytes.length - brokenEnd(bytes);
}

/** How many bytes at the end are a character that is not whole. */
function brokenEnd(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back];
    if (isContinuation(byte)) continue;
    return sequenceLength(byte ?? 0) > back ? back : 0;
  }
  return 0;
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x80 && byte < 0xc0;
}

/** Bytes of the UTF-8 sequence that begins with this one. */
function sequenceLength(byte: number): number {
  if (byte >= 0xf0) return 4;
  if (byte >= 0xe0) return 3;
  return byte >= 0xc0 ? 2 : 1;
}
