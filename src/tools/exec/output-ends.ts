import type { Clock } from '../../util/clock.ts';
import { cut, cutStart } from '../../util/text.ts';

/** Characters that are kept of the beginning and of the end of a long output. */
const HEAD_CHARS = 10_000;
const TAIL_CHARS = 5_000;
/** A cut is moved to the nearest line break if that is at most this many characters away. */
const LINE_WITHIN = 2_000;
/** Memory for these characters: one character has at most four bytes in UTF-8. */
const HEAD_BYTES = HEAD_CHARS * 4;
const TAIL_BYTES = TAIL_CHARS * 4;

/** Keeps the beginning and the end of a program's output in fixed memory (60 kB). */
export class OutputEnds {
  /** Bytes of the whole output so far. */
  bytes = 0;
  /** When output came last, by `Clock.monotonic`; 0: none came yet. */
  lastAt = 0;
  readonly #clock: Clock;
  readonly #head = Buffer.alloc(HEAD_BYTES);
  readonly #tail = Buffer.alloc(TAIL_BYTES);
  #tailLength = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(chunk: Buffer): void {
    const taken = this.bytes < HEAD_BYTES ? chunk.copy(this.#head, this.bytes) : 0;
    this.bytes += chunk.length;
    this.lastAt = this.#clock.monotonic();
    const rest = chunk.subarray(Math.max(taken, chunk.length - TAIL_BYTES));
    const kept = Math.min(this.#tailLength, TAIL_BYTES - rest.length);
    this.#tail.copyWithin(0, this.#tailLength - kept, this.#tailLength);
    rest.copy(this.#tail, kept);
    this.#tailLength = kept + rest.length;
  }

  /** The output, with control characters escaped; if it is too long, with a note in place of its middle. */
  text(): { readonly output: string; readonly truncated: boolean } {
    const head = this.#head.subarray(0, Math.min(this.bytes, HEAD_BYTES));
    const tail = this.#tail.subarray(0, this.#tailLength);
    const gap = this.bytes > head.length + tail.length;
    const whole = gap ? undefined : withoutControls(Buffer.concat([head, tail]));
    if (whole !== undefined && whole.length <= HEAD_CHARS + TAIL_CHARS) return { output: whole, truncated: false };
    const first = upToLine(cut(whole ?? withoutControls(head), HEAD_CHARS));
    const last = fromLine(cutStart(whole ?? withoutControls(tail), TAIL_CHARS));
    const note = `[… the middle of ${this.bytes} bytes is left out and not kept; if the command changes nothing, run it again with its output written to a file, and read that …]`;
    return { output: `${first}\n\n${note}\n\n${last}`, truncated: true };
  }
}

/** Cuts after the last whole line, because half a line may hold half a secret, which redaction would not find. */
function upToLine(text: string): string {
  const end = text.lastIndexOf('\n');
  return end === -1 || text.length - end > LINE_WITHIN ? text : text.slice(0, end);
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
