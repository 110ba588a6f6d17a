import type { ListItem, Span } from './spans.ts';

/** How a row follows the one before: as the next line of the same block, as the next block, or that with a blank line. */
export type Distance = 'line' | 'block' | 'blank';

interface Place {
  readonly after: Distance;
  readonly quote: boolean;
  /** The row before stands in the same quote. */
  readonly sameQuote: boolean;
  /** The list items around, the outermost first. */
  readonly items: readonly ListItem[];
  /** Those whose marker stands in this row. */
  readonly marked: ReadonlySet<ListItem>;
}

/** A line of a document whose platform draws lists, quotes and headings by itself. */
export type LayoutRow = Place &
  (
    | { readonly type: 'text'; readonly spans: readonly Span[]; readonly heading: number | undefined }
    | { readonly type: 'code'; readonly text: string; readonly language: string }
    | { readonly type: 'rule' }
  );

/** The lines of a document or of a part of it; blank ones are told by `after`. */
export function toRows(spans: readonly Span[]): readonly LayoutRow[] {
  const rows: LayoutRow[] = [];
  let after: Distance = 'line';
  let quotedGap = true;
  let content: Span[] = [];
  let marks: Span[] = [];
  /** Ends the row; `next` is how the one after it follows, at least as far away as it was. */
  const end = (next: Distance, inQuote: boolean): void => {
    const row = rowOf(content, marks, { after, quotedGap });
    if (row !== undefined) rows.push(row);
    const isFar = row === undefined && rows.length > 0 && (after === 'blank' || next === 'line');
    after = isFar ? 'blank' : next;
    quotedGap = inQuote;
    content = [];
    marks = [];
  };
  for (const span of spans) {
    if (span.role === 'gap') {
      end(span.text.length > 1 ? 'blank' : 'block', span.quote === true);
    } else if (span.role === 'marker') {
      marks.push(span);
    } else if (span.pre !== undefined || span.role === 'rule') {
      content.push(span);
    } else if (span.role === undefined) {
      for (const [at, text] of span.text.split('\n').entries()) {
        if (at > 0) end('line', true);
        if (text !== '') content.push({ ...span, text });
      }
    }
  }
  end('line', true);
  return rows;
}

function rowOf(
  content: readonly Span[],
  marks: readonly Span[],
  { after, quotedGap }: { readonly after: Distance; readonly quotedGap: boolean },
): LayoutRow | undefined {
  const first = content[0] ?? marks.at(-1);
  if (first === undefined) return undefined;
  const quote = first.quote === true;
  const marked = new Set(marks.flatMap(({ item }) => (item === undefined ? [] : [item])));
  const place: Place = { after, quote, sameQuote: quote && quotedGap, items: chain(first.item), marked };
  if (first.pre !== undefined) {
    return { ...place, type: 'code', text: content.map(({ text }) => text).join(''), language: first.pre };
  }
  if (first.role === 'rule') return { ...place, type: 'rule' };
  return { ...place, type: 'text', spans: content, heading: first.heading };
}

function chain(item: ListItem | undefined): readonly ListItem[] {
  const items: ListItem[] = [];
  for (let at = item; at !== undefined; at = at.parent) items.unshift(at);
  return items;
}
