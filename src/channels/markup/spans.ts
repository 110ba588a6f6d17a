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
  readonly quote?: boolean;
}

export function visibleText(spans: readonly Span[]): string {
  return spans.map(({ text }) => text).join('');
}

/** What of the spans lies between two offsets of their visible text. */
export function sliceSpans(spans: readonly Span[], start: number, end: number): readonly Span[] {
  const inside: Span[] = [];
  let at = 0;
  for (const span of spans) {
    const text = span.text.slice(Math.max(0, start - at), Math.max(0, end - at));
    if (text !== '') inside.push({ ...span, text });
    at += span.text.length;
    if (at >= end) break;
  }
  return inside;
}
