import { toTelegramHtml } from './html.ts';
import { toSpans } from './markdown.ts';
import { sliceSpans, visibleText, type Span } from './spans.ts';
import { splitRanges } from './split.ts';

/** Telegram takes 4096 UTF-16 units of visible text; two are kept free for the mark of a message that is sent again. */
const VISIBLE_LIMIT = 4_094;
/** Characters of markup and text together. */
const HTML_LIMIT = 9_000;

/** Markdown → Telegram's HTML in parts that each fit into a message and parse alone. Empty only for blank text. */
export function renderTelegram(markdown: string): readonly string[] {
  const parts = fit(toSpans(markdown), VISIBLE_LIMIT);
  // Something that shows nothing, such as a lone link definition, is shown as it was written.
  return parts.length > 0 ? parts : fit([{ text: markdown.toWellFormed() }], VISIBLE_LIMIT);
}

function fit(spans: readonly Span[], limit: number): readonly string[] {
  return splitRanges(visibleText(spans), limit).flatMap(({ start, end }) => {
    const part = sliceSpans(spans, start, end);
    const html = toTelegramHtml(part);
    return html.length <= HTML_LIMIT || limit === 1 ? [html] : fit(part, Math.floor(limit / 2));
  });
}
