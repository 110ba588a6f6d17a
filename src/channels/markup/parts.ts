import { isInvisible, SpanIndex, spanText, type Span } from './spans.ts';
import { afterBreak, nextRange } from './split.ts';

export interface PartRules {
  /** Visible units a part may have at most. */
  readonly limit: number;
  /** How much of the things that the platform counts the spans of a part hold; at most 1 fits. */
  readonly count?: (spans: readonly Span[]) => number;
  readonly render: (spans: readonly Span[]) => string;
  /** How much of what the platform allows a rendered part takes; at most 1 fits. */
  readonly load: (part: string) => number;
}

/** Neighbours are alike: where a part had to be short, the next one is tried with so many times its length. */
const GROWTH = 3;

/**
 * Cuts a document into parts that each fit and stand alone: what is open at a cut is closed and opened again. What all
 * parts show one after the other is what the document shows, but for the white space at the cuts and for stretches in
 * which nothing can be seen.
 */
export function toParts(spans: readonly Span[], rules: PartRules): readonly string[] {
  const text = spanText(spans);
  const index = new SpanIndex(spans);
  const parts: string[] = [];
  let space = rules.limit;
  for (let start = afterBreak(text, 0); start < text.length;) {
    const fitted = firstPart(text, start, space, { index, rules });
    if (fitted.part !== undefined) parts.push(fitted.part);
    space = Math.min(rules.limit, GROWTH * fitted.space);
    start = fitted.next;
  }
  return parts;
}

interface Fitted {
  readonly part: string | undefined;
  readonly space: number;
  readonly next: number;
}

function firstPart(
  text: string,
  start: number,
  most: number,
  { index, rules }: { readonly index: SpanIndex; readonly rules: PartRules },
): Fitted {
  for (let space = most; ;) {
    const { range, next } = nextRange(text, start, space);
    if (isInvisible(text.slice(range.start, range.end))) return { part: undefined, space, next };
    const spans = index.slice(range.start, range.end);
    let excess = rules.count?.(spans) ?? 0;
    if (excess <= 1 || space <= 2) {
      const part = rules.render(spans);
      excess = Math.max(excess, rules.load(part));
      if (excess <= 1 || space <= 2) return { part, space, next };
    }
    space = Math.max(2, Math.floor((range.end - range.start) / excess) - 1);
  }
}
