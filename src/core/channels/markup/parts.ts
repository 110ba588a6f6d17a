import { isInvisible, SpanIndex, spanText, type Span } from './spans.ts';
import { afterBreak, nextRange } from './split.ts';

/** What fits into one message of a platform, and how it is rendered. */
export interface PartRules {
  /** Most visible UTF-16 units of a part. */
  readonly limit: number;
  /** Share of a limit on the number of elements, such as blocks, that these spans use; up to 1 fits. @default no such limit */
  readonly count?: (spans: readonly Span[]) => number;
  readonly render: (spans: readonly Span[]) => string;
  /** Share of the platform's size limit that a rendered part uses; up to 1 fits. */
  readonly load: (part: string) => number;
}

/** Neighbouring texts render alike, so after a part that had to be short the next one is tried with this many times its length. */
const GROWTH = 3;
/** The head of a table that was cut takes at most this share of a part. */
const HEAD_SHARE = 0.1;

/**
 * Cuts a document into parts that each fit and stand alone: markup that is open at a cut is closed and opened again. Together
 * the parts show all of the document except white space at the cuts and stretches without anything visible.
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
    const spans = index.slice(range.start, range.end, HEAD_SHARE * rules.limit);
    let excess = Math.max(rules.count?.(spans) ?? 0, spanText(spans).length / rules.limit);
    if (excess <= 1 || space <= 2) {
      const part = rules.render(spans);
      excess = Math.max(excess, rules.load(part));
      if (excess <= 1 || space <= 2) return { part, space, next };
    }
    space = Math.max(2, Math.floor((range.end - range.start) / excess) - 1);
  }
}
