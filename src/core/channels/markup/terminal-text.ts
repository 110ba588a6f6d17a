import stringWidth from 'fast-string-width';
import { graphemesOf } from './graphemes.ts';

/** How a terminal shows text. */
export interface TerminalLook {
  /** Columns. */
  readonly width: number;
  /** `mono`: bold and the like, without colours. `plain`: no control sequence at all. */
  readonly style: 'color' | 'mono' | 'plain';
  /** Whether the terminal supports links (OSC 8); if not, the address follows the text. */
  readonly hyperlinks: boolean;
  /** Makes text safe for a terminal. Every piece of a text passes it, since Markdown can spell characters as entities. */
  readonly clean: (text: string) => string;
}

/** What a piece of text is, which decides its colour. */
export type Tone = 'code' | 'keyword' | 'string' | 'number' | 'comment' | 'added' | 'removed' | 'prompt' | 'wrong';

/** A run of text in one style. */
export interface Piece {
  readonly text: string;
  readonly bold?: boolean;
  readonly italic?: boolean;
  readonly dim?: boolean;
  readonly underline?: boolean;
  readonly strike?: boolean;
  readonly tone?: Tone;
  /** Where it leads; printable ASCII. */
  readonly link?: string;
}

type Row = readonly Piece[];

const COLORS: Readonly<Record<Tone, number>> = {
  code: 36,
  keyword: 35,
  string: 32,
  number: 33,
  comment: 90,
  added: 32,
  removed: 31,
  prompt: 36,
  wrong: 31,
};
const LINK = '\u001B]8;;';
const LINK_END = '\u001B\\';
const ASCII = /^[ -~]*$/u;
const TAB = '    ';

/** Columns that a text takes: two for wide characters and emoji, none for marks. */
export function textWidth(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text);
}

/** The graphemes of a text. */
export function characters(text: string): readonly string[] {
  return Array.from(graphemesOf(text), ({ segment }) => segment);
}

/** A row as one line with control sequences, which all end with the line. */
export function paint(row: Row, { style, hyperlinks }: Pick<TerminalLook, 'style' | 'hyperlinks'>): string {
  if (style === 'plain') return row.map(({ text }) => text).join('');
  let line = '';
  let open = '';
  for (const piece of row) {
    const sequence = sequenceOf(piece, { style, hyperlinks });
    if (sequence !== open) line += (open === '' ? '' : endOf(open)) + sequence;
    line += piece.text;
    open = sequence;
  }
  return open === '' ? line : line + endOf(open);
}

/** The control sequences that switch the style and the link of a piece on. */
function sequenceOf(piece: Piece, { style, hyperlinks }: Pick<TerminalLook, 'style' | 'hyperlinks'>): string {
  const codes = [
    ...(piece.bold === true ? [1] : []),
    ...(piece.dim === true ? [2] : []),
    ...(piece.italic === true ? [3] : []),
    ...(piece.underline === true ? [4] : []),
    ...(piece.strike === true ? [9] : []),
    ...(piece.tone !== undefined && style === 'color' ? [COLORS[piece.tone]] : []),
  ];
  const link = piece.link === undefined || !hyperlinks ? '' : `${LINK}${piece.link}${LINK_END}`;
  return link + (codes.length === 0 ? '' : `\u001B[${codes.join(';')}m`);
}

function endOf(sequence: string): string {
  const looks = sequence.endsWith('m') ? '\u001B[0m' : '';
  return looks + (sequence.startsWith(LINK) ? LINK + LINK_END : '');
}

export function rowWidth(row: Row): number {
  return row.reduce((sum, { text }) => sum + textWidth(text), 0);
}

/** Lines of at most `width` columns, broken between words; a word that is longer is broken where it has to be. */
export function wrapWords(pieces: readonly Piece[], width: number): readonly Row[] {
  const rows: Row[] = [];
  for (const line of linesOf(pieces)) rows.push(...wrapLine(line, Math.max(1, width)));
  return rows;
}

/** Lines of at most `width` columns, broken anywhere, with all their spaces; for code. */
export function wrapAnywhere(pieces: readonly Piece[], width: number): readonly Row[] {
  const rows: Row[] = [];
  for (const line of linesOf(pieces)) {
    const row = new RowBuilder(Math.max(1, width));
    for (const piece of line) row.fill(piece);
    rows.push(...row.done());
  }
  return rows;
}

function linesOf(pieces: readonly Piece[]): readonly Row[] {
  const lines: Piece[][] = [[]];
  for (const piece of pieces) {
    for (const [at, text] of piece.text.replaceAll('\t', TAB).split('\n').entries()) {
      if (at > 0) lines.push([]);
      if (text !== '') lines.at(-1)?.push({ ...piece, text });
    }
  }
  return lines;
}

function wrapLine(line: Row, width: number): readonly Row[] {
  const row = new RowBuilder(width);
  let word: Piece[] = [];
  let spaces: Piece[] = [];
  const end = (): void => {
    if (word.length === 0) return;
    const wide = rowWidth(word);
    const gap = rowWidth(spaces);
    if (row.isEmpty || row.column + gap + wide <= width) {
      for (const piece of spaces) row.fill(piece);
    } else if (wide <= width || row.column + gap >= width) {
      row.wrap();
    } else {
      for (const piece of spaces) row.fill(piece);
    }
    for (const piece of word) row.fill(piece);
    word = [];
    spaces = [];
  };
  for (const piece of line) {
    for (const [text] of piece.text.matchAll(/ +|[^ ]+/gu)) {
      if (text.startsWith(' ')) {
        end();
        spaces.push({ ...piece, text });
      } else {
        word.push({ ...piece, text });
      }
    }
  }
  end();
  return row.done();
}

class RowBuilder {
  readonly #width: number;
  readonly #rows: Row[] = [];
  #row: Piece[] = [];
  column = 0;

  constructor(width: number) {
    this.#width = width;
  }

  get isEmpty(): boolean {
    return this.#row.length === 0;
  }

  /** Adds a piece, in as many rows as it takes. */
  fill(piece: Piece): void {
    if (this.column + textWidth(piece.text) <= this.#width) {
      this.#add(piece, piece.text);
      return;
    }
    let text = '';
    let wide = 0;
    for (const character of characters(piece.text)) {
      const own = textWidth(character);
      if (this.column + wide + own > this.#width && this.column + wide > 0) {
        this.#add(piece, text);
        this.wrap();
        text = '';
        wide = 0;
      }
      text += character;
      wide += own;
    }
    this.#add(piece, text);
  }

  wrap(): void {
    this.#rows.push(this.#row);
    this.#row = [];
    this.column = 0;
  }

  done(): readonly Row[] {
    return [...this.#rows, this.#row];
  }

  #add(piece: Piece, text: string): void {
    if (text === '') return;
    this.#row.push({ ...piece, text });
    this.column += textWidth(text);
  }
}
