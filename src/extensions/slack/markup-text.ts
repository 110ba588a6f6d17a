import type { PieceDialect } from '../../core/api-channels.ts';

/** Breaks up what Slack would make a mention of, without being seen. */
export const BREAK = '\u200b';

const LINK_LIMIT = 3_000;
const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

export function isSlackLink(href: string): boolean {
  return /^(?:https?:\/\/|mailto:)./iu.test(href) && destination(href).length <= LINK_LIMIT;
}

/** `&`, `<` and `>`, which Slack reads in every text: as markup of its own, mentions of everybody among it. */
export function escapeEntities(text: string): string {
  return text.replace(/[&<>]/gu, (character) => ENTITIES[character] ?? character);
}

/** Code says nothing to people beside what it shows. */
export function breakMentions(code: string): string {
  return code.replace(/<(?=@[A-Z0-9]|#[A-Z0-9]|!(?:channel|here|everyone|group|subteam|date)\b)/gu, `<${BREAK}`);
}

export const slackPieces: PieceDialect = {
  urls: /https?:\/\/[^\s<>]+/gu,
  text: escapeText,
  start: (markup) =>
    markup.replace(/^(?:[-+=#|:]|\d{1,9}(?=[.)]))/u, (mark) => (/\d/u.test(mark) ? `${mark}\\` : `\\${mark}`)),
  code: (text) => {
    const runs = new Set(text.match(/`+/gu)?.map((run) => run.length));
    let length = 1;
    while (runs.has(length)) length += 1;
    const isPadded = /^`|`$/u.test(text) || (/^ .* $/u.test(text) && text.trim() !== '');
    const space = isPadded ? ' ' : '';
    return '`'.repeat(length) + space + breakMentions(text) + space + '`'.repeat(length);
  },
  // Slack finds addresses by itself, but not with backslashes in them.
  url: (url) => (escapeText(url) === url ? url : `[${escapeText(url)}](${destination(url)})`),
  link: (label, href) => `[${escapeText(label)}](${destination(href)})`,
};

function escapeText(text: string): string {
  // An exclamation mark would make a picture of a link behind it.
  const escaped = text.replace(/[\\`*~[\]]|!$|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu, '\\$&');
  return escapeEntities(escaped);
}

function destination(href: string): string {
  const encoded = href.replace(/[()<>\\|[\]`\s]/gu, (character) => `%${Buffer.from(character).toString('hex')}`);
  return escapeEntities(encoded);
}
