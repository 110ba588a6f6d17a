import { cut, cutStart } from '../../util/text.ts';

/** What a program writes to. */
export type StreamName = 'stdout' | 'stderr';

/** What is shown of an output. Control characters are escaped; where both streams wrote, a line `[stderr]` or `[stdout]` comes before a change. */
export interface OutputText {
  readonly output: string;
  /** The middle is left out, and a note is in its place. */
  readonly truncated: boolean;
  /** The last line that is not empty: of stderr if anything came there. */
  readonly lastLine: string;
}

/** Characters that are kept of the beginning and of the end of a long output; in UTF-8 a character has at most four bytes. */
const HEAD_CHARS = 9_000;
const TAIL_CHARS = 5_000;
const HEAD_BYTES = HEAD_CHARS * 4;
const TAIL_BYTES = TAIL_CHARS * 4;
/** A cut is moved to the nearest line break if that is at most this many characters away. */
const LINE_WITHIN = 2_000;
/** Bytes of either stream that its last line is looked for in. */
const LAST_BYTES = 500;
/** Changes of the stream that are remembered. */
const MOST_CHANGES = 10_000;

/**
 * Both outputs of a program in the order in which they come, marked where the stream changes. Keeps the beginning and the
 * end in at most about 100 kB, and hands all of it on.
 */
export class CommandOutput {
  /** Bytes that the program has written. */
  bytes = 0;
  readonly #sink: ((bytes: Buffer) => Promise<void> | undefined) | undefined;
  #head = Buffer.alloc(0);
  #tail: Buffer[] = [];
  #tailBytes = 0;
  /** Bytes with the marks. */
  #length = 0;
  #changes: { readonly stream: StreamName; readonly at: number }[] = [];
  #hasBoth = false;
  #isLineStart = true;
  readonly #last = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0) };

  /** `sink` is told all of it; it returns a promise while it can take no more. */
  constructor(sink?: (bytes: Buffer) => Promise<void> | undefined) {
    this.#sink = sink;
  }

  /** The promise of a busy sink; nothing more should be added before it resolves. */
  add(stream: StreamName, bytes: Buffer): Promise<void> | undefined {
    this.bytes += bytes.length;
    this.#last[stream] = Buffer.concat([this.#last[stream], bytes.subarray(-LAST_BYTES)]).subarray(-LAST_BYTES);
    const before = this.#changes.at(-1)?.stream;
    const isChange = before !== undefined && before !== stream;
    if (before !== stream) this.#changes.push({ stream, at: this.#length });
    if (this.#changes.length > MOST_CHANGES) this.#changes = this.#changes.slice(-MOST_CHANGES / 2);
    this.#hasBoth ||= isChange;
    const mark = isChange ? `${this.#isLineStart ? '' : '\n'}[${stream}]\n` : '';
    this.#isLineStart = bytes.at(-1) === 0x0a;
    // A copy, because a small part would hold the whole of what was read.
    return this.#keep(Buffer.concat([Buffer.from(mark), bytes]));
  }

  /** What is shown of the output so far. */
  text(): OutputText {
    const tail = Buffer.concat(this.#tail);
    const isWhole = this.#head.length + tail.length === this.#length;
    const first = this.#markAtStart() + withoutControls(isWhole ? Buffer.concat([this.#head, tail]) : this.#head);
    const lastLine = this.#lastLine();
    if (isWhole && first.length <= HEAD_CHARS + TAIL_CHARS) return { output: first, truncated: false, lastLine };
    const last = isWhole ? first : this.markAt(this.#length - tail.length) + withoutControls(tail);
    const note = `[… the middle of ${this.bytes} bytes is left out and not kept; if the command changes nothing, run it again with its output written to a file, and read that …]`;
    const beginning = upToLine(cut(first, HEAD_CHARS)).replace(/\n$/u, '');
    const end = this.#withLast(beginning, this.#end(last, TAIL_CHARS));
    return { output: `${beginning}\n\n${note}\n\n${end}`, truncated: true, lastLine };
  }

  /** The end of it, about `chars` characters. */
  last(chars: number): string {
    const kept = Buffer.concat([this.#head, ...this.#tail]).subarray(-TAIL_BYTES);
    return this.#end(this.markAt(this.#length - kept.length) + withoutControls(kept), chars);
  }

  /** What is to be read before a part of the marked output that begins at this byte: the mark of stderr, or nothing. */
  markAt(offset: number): string {
    const change = this.#changes.findLast(({ at }) => at <= offset);
    const isMarked = offset > 0 && change?.at === offset;
    return this.#hasBoth && change?.stream === 'stderr' && !isMarked ? '[stderr]\n' : '';
  }

  #keep(bytes: Buffer): Promise<void> | undefined {
    this.#length += bytes.length;
    const room = HEAD_BYTES - this.#head.length;
    if (room > 0) this.#head = Buffer.concat([this.#head, bytes.subarray(0, room)]);
    const rest = bytes.subarray(Math.max(room, 0)).subarray(-TAIL_BYTES);
    if (rest.length > 0) {
      // What comes after a piece that was cut follows nothing before it.
      this.#tail = rest.length < TAIL_BYTES ? this.#tail.concat(rest) : [rest];
      this.#tailBytes = rest.length < TAIL_BYTES ? this.#tailBytes + rest.length : rest.length;
      if (this.#tailBytes > 3 * TAIL_BYTES || this.#tail.length > 200) {
        this.#tail = [Buffer.from(Buffer.concat(this.#tail).subarray(-TAIL_BYTES))];
        this.#tailBytes = this.#tail[0]?.length ?? 0;
      }
    }
    return this.#sink?.(bytes);
  }

  /** The first stream has a mark only when another one followed and the first was not stdout. */
  #markAtStart(): string {
    return this.#hasBoth ? this.markAt(0) : '';
  }

  /** The end of a text in whole lines, with the mark that holds there. */
  #end(text: string, chars: number): string {
    const shown = fromLine(cutStart(text, chars), text);
    if (!this.#hasBoth || shown === text || /^\[std(?:err|out)\]\n/u.test(shown)) return shown;
    const before = text.slice(0, -shown.length);
    const isError = before.lastIndexOf('[stderr]\n') > before.lastIndexOf('[stdout]\n');
    return `[${isError ? 'stderr' : 'stdout'}]\n${shown}`;
  }

  /** The end of a long output, after the last lines of a stream that is not in it. */
  #withLast(beginning: string, end: string): string {
    if (!this.#hasBoth) return end;
    const missing = (['stdout', 'stderr'] as const).flatMap((stream) => {
      const bytes = this.#last[stream];
      const text = withoutControls(bytes);
      const lines = (bytes.length < LAST_BYTES ? text : fromLine(text, '')).trimEnd();
      const lastLine = lines.slice(lines.lastIndexOf('\n') + 1);
      return `\n${beginning}\n${end}\n`.includes(`\n${lastLine}\n`) ? [] : [`[${stream}]\n${lines}\n`];
    });
    if (missing.length === 0) return end;
    return `${missing.join('')}${end.startsWith('[std') ? '' : '[stdout]\n'}${end}`;
  }

  #lastLine(): string {
    const { stdout, stderr } = this.#last;
    const text = withoutControls(stderr.length > 0 ? stderr : stdout);
    return text.trimEnd().split('\n').at(-1)?.trim() ?? '';
  }
}

/** Cuts after the last whole line, because half a line may hold half a secret, which redaction would not find. */
function upToLine(text: string): string {
  const end = text.lastIndexOf('\n') + 1;
  return text.length - end > LINE_WITHIN ? text : text.slice(0, end);
}

function fromLine(text: string, whole: string): string {
  if (text.length === whole.length || whole.at(-text.length - 1) === '\n') return text;
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
