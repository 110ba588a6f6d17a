import type { LayoutRow } from './rows.ts';
import type { ListItem, Span } from './spans.ts';

/** How a platform writes its kind of Markdown, line by line. */
export interface Dialect {
  /** Renders a line of text. */
  readonly line: (spans: readonly Span[]) => string;
  /** Renders a heading. */
  readonly heading: (spans: readonly Span[], level: number, inList: boolean) => string;
  /** Renders a code block as lines, with its fences. */
  readonly code: (text: string, language: string) => readonly string[];
  /** A horizontal rule. `marked`: it follows the marker of a list item. */
  readonly rule: (marked: boolean) => string;
  /** Stands for the content of an empty list item. */
  readonly nothing: string;
  /** The marker of a list item. Lists that follow each other alternate between two markers, so that they stay separate. */
  readonly marker: (item: ListItem, place: MarkerPlace) => Marker;
  /** Whether a blank line has to stand between two blocks that follow each other without one. */
  readonly apart: (before: LayoutRow, row: LayoutRow, items: OpenItems) => boolean;
  /** Whether blank lines inside a list need its indentation. */
  readonly indentsBlank: boolean;
}

interface Marker {
  readonly text: string;
  /** Columns by which the further lines of the item are indented. */
  readonly indent: number;
}

interface MarkerPlace {
  readonly other: boolean;
  /** The markers that stand before this one in the same line. */
  readonly before: string;
}

/** The list items around the break between two rows, outermost first. */
export interface OpenItems {
  /** Items that contain the row before. */
  readonly before: readonly ListItem[];
  /** Those of them that also contain this row. */
  readonly kept: readonly ListItem[];
  /** The outermost item that begins with this row. */
  readonly first: ListItem | undefined;
}

interface OpenItem {
  readonly item: ListItem;
  readonly indent: number;
}

const QUOTE = '> ';

/**
 * Renders rows as the platform's markup. Rows of an item that was opened in an earlier part are not indented: they begin at
 * the margin.
 */
export function renderRows(rows: readonly LayoutRow[], dialect: Dialect): string {
  const markers = new Markers(dialect);
  let open: readonly OpenItem[] = [];
  let before: LayoutRow | undefined;
  let markup = '';
  for (const row of rows) {
    const continues = before !== undefined && before.quote === row.quote && (!row.quote || row.sameQuote);
    const kept = continues ? open.filter(({ item }) => row.items.includes(item) && !row.marked.has(item)) : [];
    const begun = row.items.filter((item) => row.marked.has(item));
    const quote = row.quote ? QUOTE : '';
    const indent = indentOf(kept);
    if (before !== undefined) {
      const items = { before: open.map(itemOf), kept: kept.map(itemOf), first: begun[0] };
      const isApart = row.after === 'blank' || (row.after === 'block' && dialect.apart(before, row, items));
      const blank = (continues ? quote : '') + (dialect.indentsBlank ? indent : '');
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

/** Gives each list a marker that differs from that of the list before it at the same depth. */
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
