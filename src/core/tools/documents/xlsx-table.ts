/** A sheet with more columns, or with fewer filled cells, is shown as a list of addresses. */
const MOST_COLUMNS = 60;
const LEAST_FILLED = 0.1;

/** The filled cells of one sheet, as they come. */
export class SheetTable {
  /** There is more than is kept. */
  isFull = false;
  readonly #mostChars: number;
  readonly #rows = new Map<number, Map<number, string>>();
  readonly #columns = new Set<number>();
  #cells = 0;
  #length = 0;

  constructor(mostChars: number) {
    this.#mostChars = mostChars;
  }

  /** `row` and `column` from 1; an empty text is left out. */
  put(row: number, column: number, text: string): void {
    if (text === '') return;
    const cells = this.#rows.get(row) ?? new Map<number, string>();
    this.#rows.set(row, cells.set(column, text));
    this.#columns.add(column);
    this.#cells += 1;
    this.#length += text.length + 3;
    this.isFull ||= this.#length > this.#mostChars;
  }

  /** A table of the columns that are used, or, where most of it would be empty, each row's cells with their addresses. */
  text(): string {
    if (this.#cells === 0) return '(this sheet has no text)';
    const columns = [...this.#columns].toSorted((a, b) => a - b);
    const filled = this.#cells / (columns.length * this.#rows.size);
    const isList = columns.length > MOST_COLUMNS || filled < LEAST_FILLED;
    const head = isList ? [] : [`| | ${columns.map(lettersOf).join(' | ')} |`];
    const rows = [...this.#rows].map(([row, cells]) => {
      if (!isList) return `| ${row} | ${columns.map((column) => cells.get(column) ?? '').join(' | ')} |`;
      return [...cells].map(([column, text]) => `${lettersOf(column)}${row}: ${text}`).join(' | ');
    });
    return [...head, ...rows].join('\n');
  }
}

/** The name of a column: 1 is A, 27 is AA. */
function lettersOf(column: number): string {
  let letters = '';
  for (let left = column; left > 0; left = Math.floor((left - 1) / 26)) {
    letters = String.fromCharCode(65 + ((left - 1) % 26)) + letters;
  }
  return letters;
}
