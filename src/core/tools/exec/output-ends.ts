import type { Clock } from '../../util/clock.ts';
import { cut, cutStart } from '../../util/text.ts';
import { markOf, OutputOrder, type Piece, type StreamName } from './output-order.ts';

/** Characters that are kept of the beginning and of the end of a long output. */
const HEAD_CHARS = 10_000;
const TAIL_CHARS = 5_000;
/** A cut is moved to the nearest line break if that is at most this many characters away. */
const LINE_WITHIN = 2_000;
/** Memory for these characters: one character has at most four bytes in UTF-8. */
const HEAD_BYTES = HEAD_CHARS * 4;
/** Of each of the two streams. */
const TAIL_BYTES = TAIL_CHARS * 4;
const FEW_PIECES = 1_000;

/** A piece as text. */
interface Part {
  readonly stream: StreamName;
  readonly text: string;
  /** It does not begin within a line of its stream. */
  readonly isLineStart: boolean;
}

/** What is shown of an output. */
export interface OutputText {
  /** Control characters are escaped. Where both streams wrote, a line `[stderr]` or `[stdout]` comes before a change. */
  readonly output: string;
  /** The middle is left out, and a note is in its place. */
  readonly truncated: boolean;
  /** The last line that is not empty: of stderr if anything came there. */
  readonly lastLine: string;
}

/** Keeps the beginning of a program's output and the end of each of its streams in at most about 300 kB. */
export class OutputEnds {
  /** Bytes of the whole output so far. */
  bytes = 0;
  /** When output came last, by `Clock.monotonic`; 0: none came yet. */
  lastAt = 0;
  readonly #clock: Clock;
  readonly #order: OutputOrder;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  #headLength = 0;
  /** Where in the head another stream begins. */
  readonly #changes: { readonly stream: StreamName; readonly at: number }[] = [];
  #tail: Piece[] = [];
  #tailBytes = 0;
  #mostPieces = FEW_PIECES;
  #busy: Promise<void> | undefined;

  /** `sink` is told all of it in the order in which it is shown. It returns a promise while it can take no more. */
  constructor(clock: Clock, sink?: (piece: Piece) => Promise<void> | undefined) {
    this.#clock = clock;
    this.#order = new OutputOrder((piece) => {
      this.#keep(piece);
      this.#busy = sink?.(piece) ?? this.#busy;
    });
  }

  /** The promise of a busy sink; nothing more should be added before it resolves. */
  add(piece: Piece): Promise<void> | undefined {
    this.bytes += piece.bytes.length;
    this.lastAt = this.#clock.monotonic();
    this.#busy = undefined;
    this.#order.add(piece);
    return this.#busy;
  }

  /** Hands the sink what waits for the end of a line of the other stream. */
  flush(): void {
    this.#order.flush();
  }

  /** What is shown of the output so far. */
  text(): OutputText {
    this.flush();
    const { pieces, isWhole } = this.#pieces();
    const parts = partsOf(pieces);
    const both = writers(parts) === 2;
    const lastLine = lastLineOf(parts);
    const length = parts.reduce((sum, { text }) => sum + text.length, 0);
    if (isWhole && length <= HEAD_CHARS + TAIL_CHARS) {
      return { output: joined(parts, both, 'stdout'), truncated: false, lastLine };
    }
    const { head, rest } = split(parts);
    const first = joined(head, both, 'stdout').replace(/\n$/u, '');
    const note = `[… the middle of ${this.bytes} bytes is left out and not kept; if the command changes nothing, run it again with its output written to a file, and read that …]`;
    return { output: `${first}\n\n${note}\n\n${joined(ends(rest, TAIL_CHARS), both)}`, truncated: true, lastLine };
  }

  /** The end of it, in about `chars` characters at most; half of them are for either stream if both wrote so much. */
  last(chars: number): string {
    const parts = partsOf(this.#pieces().pieces);
    return joined(ends(parts, chars), writers(parts) === 2);
  }

  #keep({ stream, bytes }: Piece): void {
    const taken = bytes.copy(this.#head, this.#headLength);
    if (taken > 0 && this.#changes.at(-1)?.stream !== stream) this.#changes.push({ stream, at: this.#headLength });
    this.#headLength += taken;
    // A copy, because a small part would hold the whole of what was read.
    const rest = Buffer.from(bytes.subarray(Math.max(taken, bytes.length - TAIL_BYTES)));
    if (rest.length === 0) return;
    this.#tail.push({ stream, bytes: rest });
    this.#tailBytes += rest.length;
    if (this.#tailBytes > 4 * TAIL_BYTES || this.#tail.length > this.#mostPieces) this.#trim();
  }

  /** Lets go of all but the end of each stream. */
  #trim(): void {
    const space = { stdout: TAIL_BYTES, stderr: TAIL_BYTES };
    const kept = this.#tail.toReversed().flatMap(({ stream, bytes }) => {
      const end = bytes.subarray(Math.max(0, bytes.length - space[stream]));
      space[stream] -= end.length;
      return end.length === 0 ? [] : [{ stream, bytes: end }];
    });
    this.#tail = together(kept.toReversed());
    this.#tailBytes = 2 * TAIL_BYTES - space.stdout - space.stderr;
    this.#mostPieces = FEW_PIECES + 2 * this.#tail.length;
  }

  #pieces(): { readonly pieces: readonly Piece[]; readonly isWhole: boolean } {
    const head = this.#changes.map(({ stream, at }, index) => ({
      stream,
      bytes: this.#head.subarray(at, this.#changes[index + 1]?.at ?? this.#headLength),
    }));
    const pieces = together([...head, ...this.#tail]);
    return { pieces, isWhole: pieces.reduce((sum, { bytes }) => sum + bytes.length, 0) === this.bytes };
  }
}

/** Pieces of the same stream in a row are one. */
function together(pieces: readonly Piece[]): Piece[] {
  const runs: { readonly stream: StreamName; readonly all: Buffer[] }[] = [];
  for (const { stream, bytes } of pieces) {
    const run = runs.at(-1);
    if (run?.stream === stream) run.all.push(bytes);
    else runs.push({ stream, all: [bytes] });
  }
  return runs.map(({ stream, all }) => ({ stream, bytes: Buffer.concat(all) }));
}

function partsOf(pieces: readonly Piece[]): readonly Part[] {
  return pieces.map(({ stream, bytes }) => ({ stream, text: withoutControls(bytes), isLineStart: true }));
}

function writers(parts: readonly Part[]): number {
  return new Set(parts.map(({ stream }) => stream)).size;
}

/** `before`: the stream that is taken for granted without a mark. @default the first one is marked as well */
function joined(parts: readonly Part[], both: boolean, before?: StreamName): string {
  let text = '';
  let current = before;
  for (const part of parts) {
    if (both && part.stream !== current) text += markOf(part.stream, text);
    current = part.stream;
    text += part.text;
  }
  return text;
}

/** The beginning of a long output, in whole lines, and all that is not in it. */
function split(parts: readonly Part[]): { readonly head: readonly Part[]; readonly rest: readonly Part[] } {
  const head: Part[] = [];
  const rest: Part[] = [];
  let space = HEAD_CHARS;
  for (const part of parts) {
    const { stream, text } = part;
    const first = cut(text, space);
    const isTorn = first.length < text.length;
    if (first !== '') head.push({ ...part, text: isTorn ? upToLine(first) : first });
    if (isTorn)
      rest.push({ stream, text: text.slice(first.length), isLineStart: first === '' || first.endsWith('\n') });
    space = isTorn ? 0 : space - first.length;
  }
  return { head: head.filter(({ text }) => text !== ''), rest };
}

/** The ends of the streams in their order, in whole lines: what one leaves of its half the other has. */
function ends(parts: readonly Part[], chars: number): readonly Part[] {
  const wrote = (name: StreamName): number =>
    parts.reduce((sum, { stream, text }) => sum + (stream === name ? text.length : 0), 0);
  const errors = Math.min(wrote('stderr'), Math.max(Math.floor(chars / 2), chars - wrote('stdout')));
  const space = { stdout: chars - errors, stderr: errors };
  const kept = parts.toReversed().flatMap((part) => {
    const { stream, text, isLineStart } = part;
    const end = cutStart(text, space[stream]);
    space[stream] -= end.length;
    const before = text.at(-end.length - 1);
    const isWholeLine = end.length === text.length ? isLineStart : before === '\n';
    const shown = isWholeLine ? end : fromLine(end);
    return shown === '' ? [] : [{ ...part, text: shown }];
  });
  return kept.toReversed();
}

function lastLineOf(parts: readonly Part[]): string {
  const errors = parts.filter(({ stream }) => stream === 'stderr');
  const text = (errors.length === 0 ? parts : errors).map((part) => part.text).join('');
  return text.trimEnd().split('\n').at(-1)?.trim() ?? '';
}

/** Cuts after the last whole line, because half a line may hold half a secret, which redaction would not find. */
function upToLine(text: string): string {
  const end = text.lastIndexOf('\n') + 1;
  return text.length - end > LINE_WITHIN ? text : text.slice(0, end);
}

function fromLine(text: string): string {
  const start = text.indexOf('\n') + 1;
  return start > LINE_WITHIN ? text : text.slice(start);
}

/** Decodes UTF-8 (U+FFFD for invalid bytes) and writes control characters, except line breaks and tabs, as `\x1b`. */
export function withoutControls(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replaceAll('\r\n', '\n')
    .replace(
      /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu,
      (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
}
