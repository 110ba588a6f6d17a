import type { DocumentText } from './pdf-text.ts';
import { localName, OfficeArchive, type OfficeBounds } from './office-archive.ts';
import { readStyles, shownNumber, type NumberKind } from './xlsx-numbers.ts';
import { SheetTable } from './xlsx-table.ts';
import { xmlEvents, type XmlEvent } from './xml-events.ts';
import { cut as shortened } from '../../util/text.ts';

const MAIN = 'xl/workbook.xml';
/** Events between two looks at the clock. */
const EVENTS_AT_ONCE = 5_000;

interface Sheet {
  readonly name: string;
  readonly part: string;
  readonly isHidden: boolean;
}

interface Book {
  readonly strings: readonly string[];
  readonly styles: readonly NumberKind[];
  /** Days count from 1904, as once on the Mac. */
  readonly is1904: boolean;
}

/**
 * The text of an Excel workbook: each sheet under its name as a table with the letters of its columns and the numbers of its
 * rows. Dates are written as 2026-11-27, a formula as its last value, or as the formula if none was saved. Throws
 * `xlsx-unreadable` for a broken or too large document.
 */
export function xlsxText(bytes: Uint8Array, bounds: OfficeBounds): DocumentText {
  const archive = new OfficeArchive(bytes, 'xlsx');
  const { sheets, is1904 } = readBook(archive);
  const book = {
    strings: readStrings(archive.part('xl/sharedStrings.xml') ?? '', bounds),
    styles: readStyles(archive.part('xl/styles.xml') ?? ''),
    is1904,
  };
  const texts: string[] = [];
  let length = 0;
  let cut = false;
  for (const [n, sheet] of sheets.entries()) {
    const table = new SheetTable(bounds.mostChars - length);
    if (bounds.hasTime()) readSheet(archive.part(sheet.part) ?? '', { book, table, hasTime: bounds.hasTime });
    else table.isFull = true;
    const hidden = sheet.isHidden ? ', hidden' : '';
    const text = `${n > 0 ? '\n' : ''}## Sheet ${n + 1} of ${sheets.length}: ${sheet.name}${hidden}\n${table.text()}`;
    texts.push(text);
    length += text.length + 1;
    cut ||= table.isFull || length > bounds.mostChars;
    if (cut) break;
  }
  return { text: shortened(texts.join('\n'), bounds.mostChars), cut, title: archive.title() };
}

function readBook(archive: OfficeArchive): { readonly sheets: readonly Sheet[]; readonly is1904: boolean } {
  const relations = archive.relations(MAIN);
  const sheets: Sheet[] = [];
  let is1904 = false;
  for (const event of xmlEvents(archive.main())) {
    if (event.type !== 'open') continue;
    const name = localName(event.name);
    if (name === 'workbookPr') is1904 = /^(?:1|true)$/u.test(event.attribute('date1904') ?? '');
    const relation = name === 'sheet' ? relations.get(event.attribute('r:id') ?? '') : undefined;
    if (relation?.type !== 'worksheet') continue;
    const isHidden = /hidden/iu.test(event.attribute('state') ?? '');
    sheets.push({ name: oneCell(event.attribute('name') ?? ''), part: relation.target, isHidden });
  }
  return { sheets, is1904 };
}

/** The texts that cells refer to by number. */
function readStrings(xml: string, { hasTime }: OfficeBounds): readonly string[] {
  const strings: string[] = [];
  let text = '';
  let inText = false;
  /** How to pronounce it, in Japanese. */
  let inPhonetic = false;
  let events = 0;
  for (const event of xmlEvents(xml)) {
    events += 1;
    if (events % EVENTS_AT_ONCE === 0 && !hasTime()) break;
    if (event.type === 'text') {
      if (inText && !inPhonetic) text += event.text;
      continue;
    }
    const isOpen = event.type === 'open';
    switch (localName(event.name)) {
      case 'si':
        if (isOpen) text = '';
        else strings.push(text);
        break;
      case 't':
        inText = isOpen;
        break;
      case 'rPh':
        inPhonetic = isOpen;
        break;
    }
  }
  return strings;
}

interface Reading {
  readonly book: Book;
  readonly table: SheetTable;
  readonly hasTime: () => boolean;
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

function readSheet(xml: string, { book, table, hasTime }: Reading): void {
  let row = 0;
  let column = 0;
  let cell: Cell | undefined;
  let field: 'value' | 'inline' | 'formula' | undefined;
  let events = 0;
  for (const event of xmlEvents(xml)) {
    events += 1;
    if (events % EVENTS_AT_ONCE === 0 && !hasTime()) table.isFull = true;
    if (table.isFull) return;
    if (event.type === 'text') {
      if (cell !== undefined && field !== undefined) cell[field] += event.text;
      continue;
    }
    const isOpen = event.type === 'open';
    switch (localName(event.name)) {
      case 'row':
        if (!isOpen) break;
        row = Number(event.attribute('r') ?? row + 1);
        column = 0;
        break;
      case 'c':
        if (isOpen) {
          cell = openCell(event, column + 1);
          column = cell.column;
        } else if (cell !== undefined) {
          table.put(row, cell.column, oneCell(shown(cell, book)));
          cell = undefined;
        }
        break;
      case 'v':
        field = isOpen ? 'value' : undefined;
        break;
      case 't':
        field = isOpen ? 'inline' : undefined;
        break;
      case 'f':
        field = isOpen ? 'formula' : undefined;
        break;
    }
  }
}

function openCell(event: Extract<XmlEvent, { type: 'open' }>, next: number): Cell {
  const letters = /^[A-Z]{1,3}/u.exec(event.attribute('r') ?? '')?.[0];
  return {
    column: letters === undefined ? next : columnOf(letters),
    type: event.attribute('t') ?? 'n',
    style: Number(event.attribute('s') ?? 0),
    value: '',
    inline: '',
    formula: '',
  };
}

/** A is 1, AA is 27. */
function columnOf(letters: string): number {
  let column = 0;
  for (const letter of letters) column = column * 26 + letter.charCodeAt(0) - 64;
  return column;
}

function shown({ type, style, value, inline, formula }: Cell, { strings, styles, is1904 }: Book): string {
  if (value === '' && inline === '') return formula === '' ? '' : `=${formula}`;
  switch (type) {
    case 's':
      return strings[Number(value)] ?? '';
    case 'inlineStr':
      return inline;
    case 'b':
      return value === '1' ? 'TRUE' : 'FALSE';
    case 'n':
      return shownNumber(value, styles[style] ?? 'number', { is1904 });
    default:
      return value;
  }
}

/** A text as it stands in one cell of a table. */
function oneCell(text: string): string {
  return text
    .replaceAll(/\s+/gu, ' ')
    .trim()
    .replaceAll('|', String.raw`\|`);
}
