/** One item of a list, with the item that its list stands in. */
export interface ListItem {
  readonly parent: ListItem | undefined;
  /** The same for all items of one list. */
  readonly list: symbol;
  /** Undefined in a list of bullets. */
  readonly number: number | undefined;
  /** What its list begins to count with. */
  readonly start: number;
}

/**
 * What a span draws that some platforms draw by themselves: the line breaks between blocks, the indentation and the
 * marker of a list item, a rule.
 */
export type SpanRole = 'gap' | 'indent' | 'marker' | 'rule';

/** A run of visible text and how it looks. A document is a list of these, so it can be cut anywhere between two units. */
export interface Span {
  readonly text: string;
  readonly bold?: boolean;
  readonly italic?: boolean;
  readonly strike?: boolean;
  /** Inline code. */
  readonly code?: boolean;
  /** Where it leads. */
  readonly link?: string;
  /** A block of code: its language, or '' when that is unknown. */
  readonly pre?: string;
  /** Of a table: so many units at its beginning are its head, which is repeated where it is cut. */
  readonly head?: number;
  readonly quote?: boolean;
  /** Level of the heading it is in, 1 to 6. */
  readonly heading?: number;
  /** The innermost list item it stands in. */
  readonly item?: ListItem;
  readonly role?: SpanRole;
}

export function spanText(spans: readonly Span[]): string {
  return spans.map(({ text }) => text).join('');
}

const SHAPED = /[^\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]/u;

/** True when nothing of the text can be seen: white space and characters without a shape. */
export function isInvisible(text: string): boolean {
  return !SHAPED.test(text);
}

/** Finds the spans between two offsets of their visible text without walking over all of them. */
export class SpanIndex {
  readonly #spans: readonly Span[];
  readonly #starts: readonly number[];

  constructor(spans: readonly Span[]) {
    let at = 0;
    const starts: number[] = [];
    for (const { text } of spans) {
      starts.push(at);
      at += text.length;
    }
    this.#spans = spans;
    this.#starts = starts;
  }

  /** A table that is cut before a row begins with its head again, if that has at most `mostHead` units. */
  slice(start: number, end: number, mostHead = 0): readonly Span[] {
    const inside: Span[] = [];
    for (let at = this.#find(start); at < this.#spans.length; at += 1) {
      const span = this.#spans[at];
      const begin = this.#starts[at] ?? 0;
      if (span === undefined || begin >= end) break;
      const head = repeatedHead(span, start - begin);
      const text = (head.length <= mostHead ? head : '') + span.text.slice(Math.max(0, start - begin), end - begin);
      if (text !== '') inside.push(text === span.text ? span : cutSpan(span, text));
    }
    return inside;
  }

  /** The last span that begins at or before an offset. */
  #find(offset: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** What stands over the rows of a table that was cut before a row. */
function repeatedHead({ text, head = 0 }: Span, from: number): string {
  return head > 0 && from >= head && text[from - 1] === '\n' ? text.slice(0, head) : '';
}

/** Half a marker is no marker, only text. */
function cutSpan(span: Span, text: string): Span {
  const { role, ...rest } = span;
  const whole = text.trim() === span.text.trim();
  return role === undefined || !whole ? { ...rest, text } : { ...span, text };
}
