import type { OfficeFile } from './office-text.ts';
import { isOpen, oneSpace } from './paragraphs.ts';

/** What the number of a cell stands for, by its format. */
type NumberKind = 'number' | 'percent' | 'date' | 'time' | 'date-time';

interface Book {
  readonly strings: readonly string[];
  /** By the style of a cell. */
  readonly styles: readonly NumberKind[];
  /** Days count from 1904, as once on the Mac. */
  readonly is1904: boolean;
}

/**
 * The text of an Excel workbook: each sheet under its name as a table with the letters of its columns and the numbers of its
 * rows. Dates are written as 2026-11-27, a formula as its last value, or as the formula if none was saved.
 */
export function workbookText(file: OfficeFile): string {
  const relations = file.relations();
  const sheets: { readonly name: string; readonly part: string; readonly hidden: string }[] = [];
  let is1904 = false;
  for (const event of file.events()) {
    if (isOpen(event, 'workbookPr')) is1904 = /^(?:1|true)$/u.test(event.attribute('date1904') ?? '');
    const relation = isOpen(event, 'sheet') ? relations.get(event.attribute('r:id') ?? '') : undefined;
    if (relation?.type !== 'worksheet') continue;
    const hidden = /hidden/iu.test(event.attribute('state') ?? '') ? ', hidden' : '';
    sheets.push({ name: oneCell(event.attribute('name') ?? ''), part: relation.target, hidden });
  }
  const book = { strings: stringsIn(file), styles: stylesIn(file), is1904 };
  const texts: string[] = [];
  for (const [n, { name, part, hidden }] of sheets.entries()) {
    if (n > 0 && file.isFull) break;
    const head = `## Sheet ${n + 1} of ${sheets.length}: ${name}${hidden}`;
    file.add(head.length);
    texts.push(`${head}\n${tableOf(rowsIn(file, part, book))}`);
  }
  return texts.join('\n\n');
}

/** The texts that cells refer to by number. */
function stringsIn(file: OfficeFile): readonly string[] {
  const strings: string[] = [];
  let text = '';
  let inText = false;
  /** How to pronounce it, in Japanese. */
  let inPhonetic = false;
  for (const event of file.events('xl/sharedStrings.xml')) {
    if (event.type === 'text') text += inText && !inPhonetic ? event.text : '';
    else if (event.name === 't') inText = event.type === 'open';
    else if (event.name === 'rPh') inPhonetic = event.type === 'open';
    else if (isOpen(event, 'si')) text = '';
    else if (event.name === 'si') strings.push(text);
  }
  return strings;
}

/** Formats that every program knows and files only name by number, by a letter of theirs. */
const BUILT_IN: Readonly<Record<string, readonly number[]>> = {
  '%': [9, 10],
  d: [14, 15, 16, 17, 27, 28, 29, 30, 31, 36, 50, 51, 52, 53, 54, 55, 56, 57, 58],
  h: [18, 19, 20, 21, 32, 33, 34, 35, 45, 46, 47],
  'd h': [22],
};

/** What the numbers of each cell style stand for, in the order of the styles. */
function stylesIn(file: OfficeFile): readonly NumberKind[] {
  const own = new Map<number, string>();
  const styles: NumberKind[] = [];
  let inCells = false;
  for (const event of file.events('xl/styles.xml')) {
    if (event.type === 'text') continue;
    if (event.name === 'cellXfs') inCells = event.type === 'open';
    else if (isOpen(event, 'numFmt')) own.set(Number(event.attribute('numFmtId')), event.attribute('formatCode') ?? '');
    else if (inCells && isOpen(event, 'xf')) {
      const id = Number(event.attribute('numFmtId') ?? 0);
      const known = Object.keys(BUILT_IN).find((format) => BUILT_IN[format]?.includes(id));
      styles.push(kindOf(own.get(id) ?? known ?? ''));
    }
  }
  return styles;
}

/** Of a format such as `dd.mm.yyyy hh:mm` or `0.0%`. */
function kindOf(format: string): NumberKind {
  // Without texts in quotes, escaped and spacing characters, and colours or languages in brackets (but not [h]).
  const [bare = ''] = format
    .replaceAll(/"[^"]*"|\\.|_.|\*.|\[(?!(?:h+|m+|s+)\])[^\]]*\]|general/giu, '')
    .toLowerCase()
    .split(';');
  const hasTime = /[hs]/u.test(bare);
  const hasDate = /[yd]/u.test(bare) || (bare.includes('m') && !hasTime);
  if (hasDate) return hasTime ? 'date-time' : 'date';
  return hasTime ? 'time' : bare.includes('%') ? 'percent' : 'number';
}

/** A cell that is open. */
interface Cell {
  readonly column: number;
  readonly type: string;
  readonly style: number;
  value: string;
  inline: string;
  formula: string;
}

type Rows = ReadonlyMap<number, ReadonlyMap<number, string>>;
const FIELDS = { v: 'value', t: 'inline', f: 'formula' } as const;

/** The filled cells of a sheet, by row and column from 1. */
function rowsIn(file: OfficeFile, part: string, book: Book): Rows {
  const rows = new Map<number, Map<number, string>>();
  let row = 0;
  let column = 0;
  let cell: Cell | undefined;
  let field: 'value' | 'inline' | 'formula' | undefined;
  for (const event of file.events(part)) {
    if (event.type === 'text') {
      if (cell !== undefined && field !== undefined) cell[field] += event.text;
    } else if (event.name === 'v' || event.name === 't' || event.name === 'f') {
      field = event.type === 'open' ? FIELDS[event.name] : undefined;
    } else if (isOpen(event, 'row')) {
      row = Number(event.attribute('r') ?? row + 1);
      column = 0;
    } else if (isOpen(event, 'c')) {
      column = columnOf(event.attribute('r') ?? '') ?? column + 1;
      const style = Number(event.attribute('s') ?? 0);
      cell = { column, type: event.attribute('t') ?? 'n', style, value: '', inline: '', formula: '' };
    } else if (event.name === 'c' && cell !== undefined) {
      const text = oneCell(shown(cell, book));
      if (text !== '') rows.set(row, (rows.get(row) ?? new Map<number, string>()).set(cell.column, text));
      file.add(text === '' ? 0 : text.length + 3);
      cell = undefined;
    }
  }
  return rows;
}

/** Of an address such as B7: A is 1, AA is 27. */
function columnOf(address: string): number | undefined {
  const letters = /^[A-Z]{1,3}/u.exec(address)?.[0];
  return letters?.split('').reduce((column, letter) => column * 26 + letter.charCodeAt(0) - 64, 0);
}

function shown({ type, style, value, inline, formula }: Cell, { strings, styles, is1904 }: Book): string {
  if (value === '' && inline === '') return formula === '' ? '' : `=${formula}`;
  if (type === 's') return strings[Number(value)] ?? '';
  if (type === 'inlineStr') return inline;
  if (type === 'b') return value === '1' ? 'TRUE' : 'FALSE';
  return type === 'n' ? shownNumber(value, styles[style] ?? 'number', is1904) : value;
}

const DAY_MS = 86_400_000;
/** Day 0 of both ways to count. The first one counts a February 29 in 1900, which there was not. */
const EPOCH = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);
/** 9999-12-31. */
const LAST_DAY = 2_958_465;

/** A number as people see it: 2026-11-27 for a date, 25% for a share; what is no number stays as it is. */
function shownNumber(text: string, kind: NumberKind, is1904: boolean): string {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) return text;
  if (kind === 'percent') return `${precise(value * 100)}%`;
  if (kind === 'number' || value < 0 || value > LAST_DAY) return precise(value);
  const seconds = Math.round(value * 86_400);
  // Hours alone may be more than 24.
  const hours = Math.floor(seconds / 3_600) % (kind === 'time' ? Infinity : 24);
  const parts = [hours, Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, '0'));
  const time = parts.join(':').replace(/(?<=:\d\d):00$/u, '');
  const early = !is1904 && value < 60 ? 1 : 0;
  const at = new Date((is1904 ? EPOCH_1904 : EPOCH) + early * DAY_MS + seconds * 1_000);
  const date = at.toISOString().slice(0, 10);
  return kind === 'time' ? time : kind === 'date' ? date : `${date} ${time}`;
}

/** Without the rounding errors of binary fractions. */
function precise(value: number): string {
  return String(Number(value.toPrecision(15)));
}

/** A sheet with more columns, or with fewer filled cells, is shown as a list of addresses. */
const MOST_COLUMNS = 60;
const LEAST_FILLED = 0.1;

/** A table of the columns that are used, or, where most of it would be empty, each row's cells with their addresses. */
function tableOf(rows: Rows): string {
  if (rows.size === 0) return '(this sheet has no text)';
  const columns = [...new Set([...rows.values()].flatMap((cells) => [...cells.keys()]))].toSorted((a, b) => a - b);
  const count = [...rows.values()].reduce((sum, cells) => sum + cells.size, 0);
  const isList = columns.length > MOST_COLUMNS || count / (columns.length * rows.size) < LEAST_FILLED;
  const lines = [...rows].map(([row, cells]) =>
    isList
      ? [...cells].map(([column, text]) => `${lettersOf(column)}${row}: ${text}`).join(' | ')
      : `| ${row} | ${columns.map((column) => cells.get(column) ?? '').join(' | ')} |`,
  );
  return [...(isList ? [] : [`| | ${columns.map(lettersOf).join(' | ')} |`]), ...lines].join('\n');
}

/** The name of a column: 1 is A, 27 is AA. */
function lettersOf(column: number): string {
  const last = String.fromCharCode(65 + ((column - 1) % 26));
  return column > 26 ? `${lettersOf(Math.floor((column - 1) / 26))}${last}` : last;
}

/** A text as it stands in one cell of a table. */
function oneCell(text: string): string {
  return oneSpace(text).replaceAll('|', String.raw`\|`);
}
