import { literalParts, toSpans, type Markup, toParts, escapeHtml, plainText, toHtml } from '../../core/api-channels.ts';

/** Telegram takes 4096 UTF-16 units of visible text; two are kept free for the mark of a message that is sent again. */
const VISIBLE_LIMIT = 4_094;
/** Characters of markup and text together. */
const HTML_LIMIT = 9_000;
/** Telegram drops the formatting behind the hundredth entity. */
const ENTITY_LIMIT = 100;
const LINK_LIMIT = 2_000;

/** Markdown → Telegram's HTML in parts that each fit into a message and parse alone. Empty only where nothing shows. */
export function renderTelegram(markdown: string): readonly string[] {
  return toParts(toSpans(markdown, isTelegramLink), {
    limit: VISIBLE_LIMIT,
    render: toHtml,
    load: (html) => Math.max(html.length / HTML_LIMIT, countEntities(html) / ENTITY_LIMIT),
  });
}

export const telegramMarkup: Markup = {
  render: renderTelegram,
  literal: (text) => literalParts(text, { limit: VISIBLE_LIMIT, escapedLimit: HTML_LIMIT, line: escapeHtml }),
  plain: plainText,
  marked: (mark, part) => mark + part,
};

/**
 * Whether Telegram takes a link. It turns links to mail addresses into web links, but finds mail addresses in plain
 * text.
 */
export function isTelegramLink(href: string): boolean {
  return /^(?:https?|tg):\/\/./iu.test(href) && href.replaceAll('&', '&amp;').length <= LINK_LIMIT;
}

/** A block of code with a language is one entity of two tags. */
function countEntities(html: string): number {
  return html.match(/<(?:[abis]|blockquote|pre|code)(?:>| href)/gu)?.length ?? 0;
}
