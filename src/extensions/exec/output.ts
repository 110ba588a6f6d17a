import { cutStart } from '../../core/api-commands.ts';
import { cut } from '../../core/api.ts';

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
const MARK = /^\[(stdout|stderr)\]\n/mu;

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
  /** Bytes with the marks. */
  #length = 0;
  readonly #streams = new Set<StreamName>();
  /** From which byte on which stream wrote. */
  #changes: { readonly stream: StreamName; readonly at: number }[] = [];
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
    const lineEnd = this.#isLineStart ? '' : '\n';
    const mark = before === undefined || before === stream ? '' : `${lineEnd}[${stream}]\n`;
    if (before !== stream) this.#changes.push({ stream, at: this.#length + (mark === '' ? 0 : lineEnd.length) });
    if (this.#changes.length > MOST_CHANGES) this.#changes = this.#changes.slice(-MOST_CHANGES / 2);
    this.#streams.add(stream);
    this.#isLineStart = bytes.at(-1) === 0x0a;
    // A copy, because a small part would hold the whole of what was read.
    const marked = Buffer.concat([Buffer.from(mark), bytes]);
    this.#length += marked.length;
    const room = Math.max(0, HEAD_BYTES - this.#head.length);
    if (room > 0) this.#head = Buffer.concat([this.#head, marked.subarray(0, room)]);
    if (marked.length > room) this.#tail.push(marked.subarray(room));
    if (this.#tail.length > 8) this.#tail = [Buffer.from(Buffer.concat(this.#tail).subarray(-TAIL_BYTES))];
    return this.#sink?.(marked);
  }

  /** What is shown of the output so far. */
  text(): OutputText {
    const tail = Buffer.concat(this.#tail);
    const isWhole = this.#head.length + tail.length === this.#length;
    const [first] = this.#streams;
    const mark = this.#streams.size > 1 && first === 'stderr' ? '[stderr]\n' : '';
    const start = mark + withoutControls(isWhole ? Buffer.concat([this.#head, tail]) : this.#head);
    const lastLine = this.#lastLine(this.#streams.has('stderr') ? 'stderr' : 'stdout').trim();
    if (isWhole && start.length <= HEAD_CHARS + TAIL_CHARS) return { output: start, truncated: false, lastLine };
    const note = `[… the middle of ${this.bytes} bytes is left out and not kept; if the command changes nothing, run it again with its output written to a file, and read that …]`;
    const beginning = upToLine(cut(start, HEAD_CHARS)).replace(/\n$/u, '');
    const end = this.#end(isWhole ? start : withoutControls(tail), TAIL_CHARS);
    const lines = (this.#streams.size < 2 ? [] : [...this.#streams])
      .filter((one) => !`${beginning}\n${end}`.includes(`${this.#lastLine(one)}\n`))
      .map((one) => `[${one}]\n${this.#lastLine(one)}\n`);
    return { output: `${beginning}\n\n${note}\n\n${lines.join('')}${end}`, truncated: true, lastLine };
  }

  /** The end of it, about `chars` characters. */
  last(chars: number): string {
    return this.#end(withoutControls(Buffer.concat([this.#head, ...this.#tail]).subarray(-TAIL_BYTES)), chars);
  }

  /** What has to stand before a part of the output that begins at this byte: the mark of stderr, or nothing. */
  markAt(offset: number): string {
    const change = this.#changes.findLast(({ at }) => at <= offset);
    const hasMark = offset > 0 && change?.at === offset;
    return this.#streams.size > 1 && change?.stream === 'stderr' && !hasMark ? '[stderr]\n' : '';
  }

  /** The end of a text in whole lines, after the mark that holds there. */
  #end(text: string, chars: number): string {
    const shown = fromLine(cutStart(text, chars), text);
    const next = MARK.exec(shown);
    if (this.#streams.size < 2 || next?.index === 0) return shown;
    // It begins with the stream that its first mark changes from.
    const stream = next === null ? this.#changes.at(-1)?.stream : next[1] === 'stderr' ? 'stdout' : 'stderr';
    return `[${stream}]\n${shown}`;
  }

  #lastLine(stream: StreamName): string {
    return withoutControls(this.#last[stream]).trimEnd().split('\n').at(-1) ?? '';
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
