import type { LayoutRow } from './rows.ts';
import type { ListItem, Span } from './spans.ts';

/** How a platform that reads a kind of Markdown wants its lines. */
export interface Dialect {
  /** A line of text. */
  readonly line: (spans: readonly Span[]) => string;
  /** A line of a heading. */
  readonly heading: (spans: readonly Span[], level: number, inList: boolean) => string;
  /** The lines of a block of code, with its fences. */
  readonly code: (text: string, language: string) => readonly string[];
  /** A rule; behind the marker of a list item if `marked`. */
  readonly rule: (marked: boolean) => string;
  /** What an item without content shows. */
  readonly nothing: string;
  /** The marker of a list item; another one in every second of two lists that follow each other. */
  readonly marker: (item: ListItem, place: MarkerPlace) => Marker;
  /** Whether a blank line has to stand between two blocks that follow each other without one. */
  readonly apart: (before: LayoutRow, row: LayoutRow, items: OpenItems) => boolean;
  /** Whether blank lines inside a list need its indentation. */
  readonly indentsBlank: boolean;
}

interface Marker {
  readonly text: string;
  /** How far what belongs to the item is moved in below it. */
  readonly indent: number;
}

interface MarkerPlace {
  readonly other: boolean;
  /** The markers before it in its line. */
  readonly before: string;
}

/** Items as they are written, the outermost first. */
export interface OpenItems {
  /** Those the row before stands in. */
  readonly before: readonly ListItem[];
  /** Those of them that go on. */
  readonly kept: readonly ListItem[];
  /** The first that begins. */
  readonly first: ListItem | undefined;
}

interface OpenItem {
  readonly item: ListItem;
  readonly indent: number;
}

const QUOTE = '> ';

/**
 * Lines → the platform's markup. Items that were opened in another part are not indented here: what belongs to them
 * begins at the margin.
 */
export function renderRows(rows: readonly LayoutRow[], dialect: Dialect): string {
  const markers = new Markers(dialect);
  let open: readonly OpenItem[] = [];
  let before: LayoutRow | undefined;
  let markup = '';
  for (const row of rows) {
    const goesOn = before !== undefined && before.quote === row.quote && (!row.quote || row.sameQuote);
    const kept = goesOn ? open.filter(({ item }) => row.items.includes(item) && !row.marked.has(item)) : [];
    const begun = row.items.filter((item) => row.marked.has(item));
    const quote = row.quote ? QUOTE : '';
    const indent = indentOf(kept);
    if (before !== undefined) {
      const items = { before: open.map(itemOf), kept: kept.map(itemOf), first: begun[0] };
      const isApart = row.after === 'blank' || (row.after === 'block' && dialect.apart(before, row, items));
      const blank = (goesOn ? quote : '') + (dialect.indentsBlank ? indent : '');
      markup += isApart ? `\n${blank}\n` : '\n';
    }
    const opened: OpenItem[] = [];
    let marks = '';
    for (const item of begun) {
      const marker = markers.of(item, kept.length + opened.length, marks);
      opened.push({ item, indent: marker.indent });
      marks += marker.text;
    }
    const margin = quote + indent + indentOf(opened);
    markup += quote + indent + marks + linesOf(row, dialect).join(`\n${margin}`);
    open = [...kept, ...opened];
    before = row;
  }
  return markup;
}

function itemOf({ item }: OpenItem): ListItem {
  return item;
}

function indentOf(items: readonly OpenItem[]): string {
  return ' '.repeat(items.reduce((sum, { indent }) => sum + indent, 0));
}

function linesOf(row: LayoutRow, dialect: Dialect): readonly string[] {
  const isMarked = row.marked.size > 0;
  switch (row.type) {
    case 'code':
      return dialect.code(row.text, row.language);
    case 'rule':
      return [dialect.rule(isMarked)];
    case 'text': {
      const { heading, spans } = row;
      const line = heading === undefined ? dialect.line(spans) : dialect.heading(spans, heading, row.items.length > 0);
      return [line === '' && isMarked ? dialect.nothing : line];
    }
  }
}

/** Gives each list its markers, other ones than the list before it at the same depth. */
class Markers {
  readonly #dialect: Dialect;
  readonly #last: { list: symbol; other: boolean }[] = [];

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  of(item: ListItem, depth: number, before: string): Marker {
    let last = this.#last[depth];
    if (last?.list !== item.list) last = { list: item.list, other: last?.other === false };
    this.#last[depth] = last;
    return this.#dialect.marker(item, { other: last.other, before });
  }
}
