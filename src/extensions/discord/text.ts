import type { PieceDialect } from '../../core/api-channels.ts';

/** Breaks up what Discord would make more of than text, without being seen. */
export const BREAK = '\u200b';

const LINK_LIMIT = 900;

/** Discord shows a masked link as written when its label could pass for something else, and escapes nothing in it. */
export function isDiscordLink(href: string, label: string): boolean {
  if (!/^https?:\/\/./iu.test(href) || encode(href).length > LINK_LIMIT) return false;
  const isPlain = !/[\\*~|`<>[\]@\n]|__|:\/\/|:\w+:|\p{Extended_Pictographic}|\p{Regional_Indicator}/u.test(label);
  const hasBlock = /^\s*(?:[-+#>]|\d+\.)/u.test(label);
  const hasEmphasis = /(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])/u.test(label);
  return isPlain && !hasBlock && !hasEmphasis && !/discord(?:app)?\.(?:gg|com|new|gift)/iu.test(label);
}

export const discordPieces: PieceDialect = {
  urls: /(?:https?|steam):\/\/[^\s<>]+/gu,
  text: escapeText,
  start: (markup) => markup.replace(/^(?:[-+#>]|\d+(?=\.))/u, (mark) => (/\d/u.test(mark) ? `${mark}\\` : `\\${mark}`)),
  code: (text) => {
    const fence = ['`', '``'].find((marks) => !text.match(/`+/gu)?.includes(marks));
    if (fence === undefined || /`{3}/u.test(text)) return escapeText(text);
    return fence + (/^ *`/u.test(text) ? ' ' : '') + text + (/` *$/u.test(text) ? ' ' : '') + fence;
  },
  // In angle brackets there is no preview.
  url: (url) => `<${url}>`,
  link: (label, href) => `[${label}](<${encode(href)}>)`,
};

function escapeText(text: string): string {
  return text
    .replace(/(?<=<(?:@[!&]?|#))(?=\d)|(?<=@)(?=everyone|here)/gu, BREAK)
    .replace(/[\\*_~|`[<]/gu, '\\$&')
    .replace(/(?:https?|steam)(?=:\/\/)/gu, '$&\\');
}

function encode(href: string): string {
  return href.replace(/[()<>\\*~|[\]`\s]/gu, (character) =>
    encodeURIComponent(character).replace(/[()*~]/u, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`),
  );
}
