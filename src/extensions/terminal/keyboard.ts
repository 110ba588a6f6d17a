import { emitKeypressEvents, type Key } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Clock } from '../../core/api.ts';
import { complete, type CompletionPorts } from './completion.ts';
import { Editor } from './editor.ts';
import { HistoryWalk, type InputHistory } from './history.ts';

type TerminalIn = Readable & { setRawMode?(raw: boolean): unknown };

/** Ctrl-J counts as Enter this long after the start, because Enter that was pressed before arrives as Ctrl-J. */
const TYPED_AHEAD_MS = 100;

export interface KeyboardPorts {
  readonly clock: Clock;
  readonly history: InputHistory;
  readonly completion: CompletionPorts;
  /** A person pressed Enter; `shown` is the text as it was on the screen. */
  readonly submit: (text: string, shown: string) => void;
  /** Ctrl-C. */
  readonly interrupt: () => void;
  /** Ctrl-Z. */
  readonly suspend: () => void;
  /** Ctrl-L. */
  readonly clearScreen: () => void;
  /** Ctrl-D with nothing typed, or the terminal is gone. */
  readonly end: () => void;
  /** The input changed and has to be drawn again. */
  readonly changed: () => void;
}

interface Search {
  query: string;
  skip: number;
}

/** Reads the keys of a person into an editor, with history, search and completion. */
export class Keyboard implements Disposable {
  readonly #in: TerminalIn;
  readonly #ports: KeyboardPorts;
  readonly #history: HistoryWalk;
  readonly #openedAt: number;
  #editor = new Editor();
  /** What was being typed when a question came. */
  #aside: Editor | undefined;
  #pasting: string | undefined;
  #search: Search | undefined;
  #candidates: readonly string[] = [];
  /** Keys that came while a completion is looked up. */
  #waiting: [string | undefined, Key][] | undefined;

  constructor(input: TerminalIn, ports: KeyboardPorts) {
    this.#in = input;
    this.#ports = ports;
    this.#history = new HistoryWalk(ports.history);
    this.#openedAt = ports.clock.monotonic();
    emitKeypressEvents(input);
    input.setRawMode?.(true);
    input.on('keypress', this.#onKey);
    input.on('end', ports.end);
    input.resume();
  }

  /** The input as it is drawn, and the position of the cursor in it. */
  get shown(): { readonly text: string; readonly cursor: number } {
    return { text: this.#editor.shown, cursor: this.#editor.shownCursor };
  }

  get isEmpty(): boolean {
    return this.#editor.isEmpty;
  }

  /** Possible completions of the input; empty when there are none or only one. */
  get candidates(): readonly string[] {
    return this.#candidates;
  }

  /** The text that is searched in the history; undefined: no search runs. */
  get query(): string | undefined {
    return this.#search?.query;
  }

  /** Clears the input. */
  clear(): void {
    this.#search = undefined;
    this.#editor.take();
  }

  /** Puts a text in front of the input, on a line of its own. */
  restore(text: string): void {
    const editor = this.#aside ?? this.#editor;
    editor.set([text, editor.take()].filter((part) => part !== '').join('\n'));
  }

  /** Starts an empty input for the answer to a question; the input so far is put aside until `resume`. */
  putAside(): void {
    this.#aside ??= this.#editor;
    this.#editor = new Editor();
  }

  /** Brings the input back that was put aside. */
  resume(): void {
    this.#editor = this.#aside ?? this.#editor;
    this.#aside = undefined;
  }

  /** Gives the terminal its own way of handling keys back. */
  release(): void {
    this.#in.setRawMode?.(false);
  }

  /** Takes each key as it comes, also after another program had the terminal. */
  seize(): void {
    // Node switches only from one mode to the other.
    this.#in.setRawMode?.(false);
    this.#in.setRawMode?.(true);
  }

  [Symbol.dispose](): void {
    this.#in.off('keypress', this.#onKey);
    this.#in.off('end', this.#ports.end);
    this.#in.setRawMode?.(false);
    this.#in.pause();
  }

  readonly #onKey = (text: string | undefined, key: Key): void => {
    if (this.#waiting === undefined) this.#take(text, key);
    else this.#waiting.push([text, key]);
  };

  #take(text: string | undefined, key: Key): void {
    if (key.name === 'paste-start') {
      this.#pasting = '';
      return;
    }
    if (key.name === 'paste-end') {
      this.#editor.paste(this.#pasting ?? '');
      this.#pasting = undefined;
    } else if (this.#pasting !== undefined) {
      this.#pasting += text ?? '';
      return;
    } else {
      this.#candidates = [];
      if (this.#search === undefined) this.#key(text, key);
      else this.#searchKey(this.#search, text, key);
    }
    this.#ports.changed();
  }

  #key(text: string | undefined, key: Key): void {
    const editor = this.#editor;
    const { name = '', ctrl = false, meta = false, sequence } = key;
    if (ctrl && !meta) return this.#control(name, sequence);
    const isTypedAhead = this.#ports.clock.monotonic() - this.#openedAt < TYPED_AHEAD_MS;
    if (name === 'enter' && isTypedAhead) return this.#enter();
    // Also Shift-Enter, if the terminal reports it.
    const isNewLine = name === 'enter' || (name === 'return' && meta) || sequence === '\u001B[13;2u';
    if (isNewLine) return editor.insert('\n');
    if (meta) return this.#alt(name);
    switch (name) {
      case 'return':
        return this.#enter();
      case 'tab':
        void this.#complete();
        return;
      case 'backspace':
        return editor.backspace();
      case 'delete':
        return editor.delete();
      case 'left':
        return editor.left();
      case 'right':
        return editor.right();
      case 'home':
        return editor.home();
      case 'end':
        return editor.end();
      case 'up':
        return editor.isOnFirstLine ? this.#show(this.#history.back(editor.text)) : editor.up();
      case 'down':
        return editor.isOnLastLine ? this.#show(this.#history.forward()) : editor.down();
      default:
        if (text !== undefined && !text.startsWith('\u001B')) editor.insert(text);
    }
  }

  #control(name: string, sequence: string | undefined): void {
    const editor = this.#editor;
    if (sequence === '\u001F') return editor.undo();
    const actions: Readonly<Record<string, () => void>> = {
      c: this.#ports.interrupt,
      z: this.#ports.suspend,
      l: this.#ports.clearScreen,
      d: () => (editor.isEmpty ? this.#ports.end() : editor.delete()),
      a: () => editor.home(),
      e: () => editor.end(),
      b: () => editor.left(),
      f: () => editor.right(),
      h: () => editor.backspace(),
      k: () => editor.cutToEnd(),
      u: () => editor.cutToStart(),
      w: () => editor.cutWordLeft(),
      y: () => editor.yank(),
      p: () => this.#show(this.#history.back(editor.text)),
      n: () => this.#show(this.#history.forward()),
      r: () => {
        this.#search = { query: '', skip: 0 };
      },
      left: () => editor.wordLeft(),
      right: () => editor.wordRight(),
      backspace: () => editor.cutWordLeft(),
      delete: () => editor.cutWordRight(),
    };
    actions[name]?.();
  }

  #alt(name: string): void {
    const editor = this.#editor;
    const actions: Readonly<Record<string, () => void>> = {
      b: () => editor.wordLeft(),
      f: () => editor.wordRight(),
      left: () => editor.wordLeft(),
      right: () => editor.wordRight(),
      d: () => editor.cutWordRight(),
      backspace: () => editor.cutWordLeft(),
    };
    actions[name]?.();
  }

  #enter(): void {
    const editor = this.#editor;
    if (editor.before.endsWith('\\') && editor.isOnLastLine) {
      editor.complete(1, '\n');
      return;
    }
    const { shown } = editor;
    const text = editor.take();
    if (this.#aside === undefined && text.trim() !== '') this.#history.add(text);
    this.#ports.submit(text, shown);
  }

  #show(entry: string | undefined): void {
    if (entry !== undefined) this.#editor.set(entry);
  }

  /** Ctrl-R looks further back, Ctrl-C and Ctrl-G give up, every other key takes what was found. */
  #searchKey(search: Search, text: string | undefined, key: Key): void {
    if (key.ctrl === true && key.name === 'r') search.skip += 1;
    else if (key.ctrl === true && (key.name === 'c' || key.name === 'g')) return this.clear();
    else if (key.name === 'backspace') this.#search = { query: search.query.slice(0, -1), skip: 0 };
    else if (text !== undefined && /^[^\p{Cc}]+$/u.test(text)) this.#search = { query: search.query + text, skip: 0 };
    else {
      this.#search = undefined;
      if (key.name !== 'escape') this.#key(text, key);
      return;
    }
    const { query, skip } = this.#search ?? search;
    const found = this.#history.find(query, skip);
    if (found !== undefined) this.#editor.set(found);
    else if (skip > 0) search.skip -= 1;
  }

  async #complete(): Promise<void> {
    const editor = this.#editor;
    this.#waiting = [];
    const found = await complete(editor.before, this.#ports.completion).catch(() => null);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    // A question that came meanwhile has an editor of its own.
    if (found !== null && this.#editor === editor) {
      if (found.text.length > found.length) editor.complete(found.length, found.text);
      else this.#candidates = found.candidates;
    }
    this.#ports.changed();
    for (const [text, key] of waiting) this.#onKey(text, key);
  }
}
