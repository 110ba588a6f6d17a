import type { Writable } from 'node:stream';
import { textWidth } from '../../core/api-terminal.ts';

/** A terminal that is written to; it tells its size and emits `resize`. */
export type TerminalOut = Writable & { readonly columns?: number; readonly rows?: number };

export interface ScreenPlace {
  readonly row: number;
  readonly column: number;
}

const DEFAULT_COLUMNS = 80;
const DEFAULT_ROWS = 24;

// A terminal that knows synchronized updates shows all of one at once; others ignore the request.
const BEGIN = '\u001B[?2026h\u001B[?25l';
const END = '\u001B[?25h\u001B[?2026l';
/** A line that a terminal takes for wider than it was reckoned is cut, instead of moving all that is below. */
const NO_WRAP = '\u001B[?7l';
const WRAP = '\u001B[?7h';
const CLEAR_BELOW = '\u001B[J';
const CLEAR_SCREEN = '\u001B[H\u001B[2J';
const CLEAR_RIGHT = '\u001B[K';

/**
 * The lower end of a terminal: lines that are printed once and stay, and below them rows that are drawn again in place.
 * Only the rows that differ are written.
 */
export class Frame {
  readonly #out: TerminalOut;
  /** The rows on the screen that are drawn in place. */
  #rows: readonly string[] = [];
  #cursor: ScreenPlace = { row: 0, column: 0 };

  constructor(out: TerminalOut) {
    this.#out = out;
  }

  get columns(): number {
    return Math.max(1, this.#out.columns ?? DEFAULT_COLUMNS);
  }

  get height(): number {
    return Math.max(1, this.#out.rows ?? DEFAULT_ROWS);
  }

  /** Prints lines above, and shows these rows, with the cursor in one of them. There must not be more rows than the terminal has. */
  draw(printed: readonly string[], rows: readonly string[], cursor: ScreenPlace): void {
    const same = printed.length > 0 ? 0 : sameRows(this.#rows, rows);
    const isSame = same === rows.length && same === this.#rows.length;
    if (isSame && cursor.row === this.#cursor.row && cursor.column === this.#cursor.column) return;
    let text = this.#toRow(Math.min(same, Math.max(0, this.#rows.length - 1)));
    if (printed.length > 0) text += CLEAR_BELOW + printed.map((line) => `${line}\r\n`).join('');
    else if (same > 0 && same === this.#rows.length && same < rows.length) text += '\r\n';
    text +=
      NO_WRAP +
      rows
        .slice(same)
        .map((row) => this.#whole(row))
        .join('\r\n');
    if (rows.length < this.#rows.length && printed.length === 0) {
      text += rows.length > same ? `\r\n${CLEAR_BELOW}${up(1)}` : CLEAR_BELOW;
    }
    const at = same < rows.length ? rows.length - 1 : Math.min(same, Math.max(0, this.#rows.length - 1));
    text += `${WRAP}${vertical(cursor.row - at)}\r${right(cursor.column)}`;
    this.#rows = rows;
    this.#cursor = cursor;
    this.#out.write(BEGIN + text + END);
  }

  /** The terminal has another size and has wrapped its lines anew: what is drawn next begins where the rows were. */
  resized(): void {
    const heightOf = (row: string): number => Math.max(1, Math.ceil(textWidth(row) / this.columns));
    const above = this.#rows.slice(0, this.#cursor.row).reduce((sum, row) => sum + heightOf(row), 0);
    const height = above + Math.floor(this.#cursor.column / this.columns);
    this.#out.write(`${up(height)}\r${CLEAR_BELOW}`);
    this.#rows = [];
    this.#cursor = { row: 0, column: 0 };
  }

  /** The screen may show anything: what is drawn next begins where the cursor is. */
  forget(): void {
    this.#out.write('\r');
    this.#rows = [];
    this.#cursor = { row: 0, column: 0 };
  }

  /** Empties the screen; what has scrolled away stays. */
  clearScreen(): void {
    this.#out.write(CLEAR_SCREEN);
    this.forget();
  }

  /** Takes the rows away; the cursor is where they began. */
  clear(): void {
    this.draw([], [], { row: 0, column: 0 });
  }

  #toRow(row: number): string {
    return `${vertical(row - this.#cursor.row)}\r`;
  }

  #whole(row: string): string {
    return textWidth(row) < this.columns ? row + CLEAR_RIGHT : row;
  }
}

function sameRows(before: readonly string[], after: readonly string[]): number {
  let same = 0;
  while (same < before.length && same < after.length && before[same] === after[same]) same += 1;
  return same;
}

function vertical(rows: number): string {
  return rows < 0 ? up(-rows) : rows > 0 ? `\u001B[${rows}B` : '';
}

function up(rows: number): string {
  return rows > 0 ? `\u001B[${rows}A` : '';
}

function right(columns: number): string {
  return columns > 0 ? `\u001B[${columns}C` : '';
}
