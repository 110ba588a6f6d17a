import { characters } from '../../core/api-terminal.ts';

/** Pasted text of more lines is shown as `[50 lines]`. */
const MOST_SHOWN_LINES = 5;
const MOST_SHOWN_LENGTH = 1_000;
/** Stand for pasted texts, one each. */
const FIRST_PLACEHOLDER = 0xf0000;
const PLACEHOLDER = /[\u{F0000}-\u{FFFFD}]/gu;
const MOST_UNDO = 200;

interface State {
  readonly text: string;
  readonly cursor: number;
}

/** What a person has typed and not sent: some lines of text, a cursor, and what was cut. Pure; it draws nothing. */
export class Editor {
  #text = '';
  /** Offset in UTF-16 units, never inside a character. */
  #cursor = 0;
  #cut = '';
  #undo: State[] = [];
  #pasted: string[] = [];

  /** With pasted texts in full. */
  get text(): string {
    return this.#text.replaceAll(PLACEHOLDER, (sign) => this.#pasted[this.#index(sign)] ?? '');
  }

  /** As it is shown: long pasted texts are `[50 lines]`. */
  get shown(): string {
    return this.#show(this.#text);
  }

  /** Where the cursor is in `shown`. */
  get shownCursor(): number {
    return this.#show(this.#text.slice(0, this.#cursor)).length;
  }

  get isEmpty(): boolean {
    return this.#text === '';
  }

  /** What stands before the cursor; for completion. */
  get before(): string {
    return this.#text.slice(0, this.#cursor);
  }

  get isOnFirstLine(): boolean {
    return !this.before.includes('\n');
  }

  get isOnLastLine(): boolean {
    return !this.#text.includes('\n', this.#cursor);
  }

  /** Replaces everything; the cursor is at the end. */
  set(text: string): void {
    this.#remember();
    this.#text = plain(text);
    this.#cursor = this.#text.length;
  }

  insert(text: string): void {
    this.#splice(this.#cursor, this.#cursor, plain(text));
  }

  /** Inserts a text that was pasted, without the line break at its end. */
  paste(text: string): void {
    const whole = plain(text.replaceAll(/\r\n?/gu, '\n')).replace(/\n$/u, '');
    const lines = whole.split('\n').length;
    if (lines <= MOST_SHOWN_LINES && whole.length <= MOST_SHOWN_LENGTH) return this.insert(whole);
    this.#pasted.push(whole);
    const sign = String.fromCodePoint(FIRST_PLACEHOLDER + this.#pasted.length - 1);
    this.#splice(this.#cursor, this.#cursor, sign);
  }

  /** Replaces the last `length` units before the cursor. */
  complete(length: number, text: string): void {
    this.#splice(this.#cursor - length, this.#cursor, plain(text));
  }

  /** Empties it and returns what it held, with pasted texts in full. */
  take(): string {
    const { text } = this;
    this.#text = '';
    this.#cursor = 0;
    this.#undo = [];
    this.#pasted = [];
    return text;
  }

  backspace(): void {
    this.#splice(this.#left(), this.#cursor, '');
  }

  delete(): void {
    this.#splice(this.#cursor, this.#right(), '');
  }

  left(): void {
    this.#cursor = this.#left();
  }

  right(): void {
    this.#cursor = this.#right();
  }

  wordLeft(): void {
    this.#cursor = this.#wordStart();
  }

  wordRight(): void {
    this.#cursor = this.#wordEnd();
  }

  home(): void {
    this.#cursor = this.#lineStart();
  }

  end(): void {
    this.#cursor = this.#lineEnd();
  }

  /** To the line above, as near to the same column as it has one. */
  up(): void {
    const start = this.#lineStart();
    if (start === 0) return;
    const column = this.#cursor - start;
    const above = start < 2 ? 0 : this.#text.lastIndexOf('\n', start - 2) + 1;
    this.#cursor = this.#whole(Math.min(above + column, start - 1));
  }

  down(): void {
    const end = this.#lineEnd();
    if (end === this.#text.length) return;
    const column = this.#cursor - this.#lineStart();
    const after = this.#text.indexOf('\n', end + 1);
    this.#cursor = this.#whole(Math.min(end + 1 + column, after === -1 ? this.#text.length : after));
  }

  /** Cuts to the end of the line, or joins it with the next. */
  cutToEnd(): void {
    const end = this.#lineEnd();
    this.#cutOut(this.#cursor, end === this.#cursor ? Math.min(end + 1, this.#text.length) : end);
  }

  cutToStart(): void {
    this.#cutOut(this.#lineStart(), this.#cursor);
  }

  cutWordLeft(): void {
    this.#cutOut(this.#wordStart(), this.#cursor);
  }

  cutWordRight(): void {
    this.#cutOut(this.#cursor, this.#wordEnd());
  }

  /** Inserts what was cut last. */
  yank(): void {
    this.insert(this.#cut);
  }

  undo(): void {
    const last = this.#undo.pop();
    if (last === undefined) return;
    this.#text = last.text;
    this.#cursor = last.cursor;
  }

  #splice(from: number, to: number, text: string): void {
    if (from === to && text === '') return;
    this.#remember();
    this.#text = this.#text.slice(0, from) + text + this.#text.slice(to);
    this.#cursor = from + text.length;
  }

  #cutOut(from: number, to: number): void {
    if (from === to) return;
    this.#cut = this.#text.slice(from, to).replaceAll(PLACEHOLDER, (sign) => this.#pasted[this.#index(sign)] ?? '');
    this.#splice(from, to, '');
  }

  #remember(): void {
    this.#undo = [...this.#undo, { text: this.#text, cursor: this.#cursor }].slice(-MOST_UNDO);
  }

  #left(): number {
    const last = characters(this.before.slice(-40)).at(-1) ?? '';
    return this.#cursor - last.length;
  }

  #right(): number {
    const [next = ''] = characters(this.#text.slice(this.#cursor, this.#cursor + 40));
    return this.#cursor + next.length;
  }

  #wordStart(): number {
    return this.#cursor - (/[\p{L}\p{N}_]*[^\p{L}\p{N}_]*$/u.exec(this.before)?.[0].length ?? 0);
  }

  #wordEnd(): number {
    const after = this.#text.slice(this.#cursor);
    return this.#cursor + (/^[^\p{L}\p{N}_]*[\p{L}\p{N}_]*/u.exec(after)?.[0].length ?? 0);
  }

  #lineStart(): number {
    return this.#cursor === 0 ? 0 : this.#text.lastIndexOf('\n', this.#cursor - 1) + 1;
  }

  #lineEnd(): number {
    const end = this.#text.indexOf('\n', this.#cursor);
    return end === -1 ? this.#text.length : end;
  }

  /** The nearest offset to the left that is not inside a surrogate pair. */
  #whole(offset: number): number {
    const code = this.#text.charCodeAt(offset);
    return code >= 0xdc00 && code <= 0xdfff ? offset - 1 : offset;
  }

  #show(text: string): string {
    return text.replaceAll(PLACEHOLDER, (sign) => label(this.#pasted[this.#index(sign)] ?? ''));
  }

  #index(sign: string): number {
    return (sign.codePointAt(0) ?? 0) - FIRST_PLACEHOLDER;
  }
}

function label(pasted: string): string {
  const lines = pasted.split('\n').length;
  return lines > 1 ? `[${lines} lines]` : `[${pasted.length} characters]`;
}

/** Text that can be drawn in a line: without controls, and without the signs that stand for pasted texts. */
function plain(text: string): string {
  return text.replaceAll(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/gu, '').replaceAll(PLACEHOLDER, '');
}
