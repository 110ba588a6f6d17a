import type { TerminalLook } from '../../core/api-terminal.ts';
import { lastBlock, renderTerminal } from './markup.ts';

/**
 * Markdown that grows. Its finished blocks are handed out once, as lines; the last, which may still change, is shown as it
 * is now.
 */
export class AnswerText {
  readonly #look: () => TerminalLook;
  /** All of it, as it was written. */
  text = '';
  /** What of it was handed out. */
  #done = 0;
  /** Rows of the last block that were handed out because there was no room for them. */
  #handed = 0;
  #width = 0;
  #isBehind = false;

  constructor(look: () => TerminalLook) {
    this.#look = look;
  }

  /** A new text begins; `isBehind`: an empty line keeps it apart from what is above. */
  begin(isBehind: boolean): void {
    this.#isBehind = isBehind;
  }

  /** Takes the text as it is now, which begins with what it was; returns the lines that are finished by it. */
  grow(text: string): readonly string[] {
    this.text = text;
    const at = lastBlock(text.slice(this.#done));
    if (at === 0) return [];
    const lines = this.#unhanded(this.#done + at);
    this.#done += at;
    this.#handed = 0;
    return lines;
  }

  /** The last block in at most `most` rows; the rows above them are finished. */
  open(most: number): { readonly finished: readonly string[]; readonly rows: readonly string[] } {
    const rows = this.#unhanded(this.text.length);
    const excess = Math.max(0, rows.length - most);
    this.#handed += excess;
    return { finished: rows.slice(0, excess), rows: rows.slice(excess) };
  }

  /** Nothing more comes: returns the lines of the last block. */
  end(): readonly string[] {
    const lines = this.#unhanded(this.text.length);
    this.text = '';
    this.#done = 0;
    this.#handed = 0;
    return lines;
  }

  /** The lines up to an offset that were not handed out. */
  #unhanded(end: number): readonly string[] {
    const look = this.#look();
    // Rows of another width cannot be told from these: rather twice than not at all.
    if (look.width !== this.#width) this.#handed = 0;
    this.#width = look.width;
    const source = this.text.slice(this.#done, end);
    const lines = renderTerminal(source, look);
    const gap = lines.length > 0 && this.#isApart(source) ? [''] : [];
    return [...gap, ...lines].slice(this.#handed);
  }

  #isApart(source: string): boolean {
    if (this.#done === 0) return this.#isBehind;
    return /\n[ \t]*\n[ \t]*$/u.test(this.text.slice(0, this.#done).slice(-400)) || /^ {0,3}#/u.test(source);
  }
}
