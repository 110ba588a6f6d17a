import { renderRows, type Dialect } from './blocks.ts';
import { literalLine, literalParts } from './literal.ts';
import { toSpans } from './markdown.ts';
import { parseLine, tokenText } from './parser.ts';
import { toParts } from './parts.ts';
import { renderPieces, toPieces, type PieceDialect } from './pieces.ts';
import { toRows } from './rows.ts';
import { spanText, type Span } from './spans.ts';

/**
 * Markdown as parts of CommonMark that each have at most `maxLength` UTF-16 units and stand alone. Signs of the text that
 * would mean something are written as entities, tags included, so that text stays text. A new line is meant as a new line.
 */
export function commonMarkParts(markdown: string, maxLength: number): readonly string[] {
  return toParts(toSpans(markdown, isLink), {
    limit: maxLength,
    render: (spans) => renderRows(toRows(spans), commonMark),
    load: (part) => part.length / maxLength,
  });
}

/** Text that is not read as Markdown, as parts of CommonMark that show it as it is. Shares no code with `commonMarkParts`. */
export function commonMarkLiteral(text: string, maxLength: number): readonly string[] {
  const signs = { text: (line: string) => line.replaceAll(/[!-/:-@[-`{-~]/gu, entity), start: (line: string) => line };
  return literalParts(text, { limit: maxLength, line: (line) => literalLine(line, signs) });
}

const isLink = (href: string): boolean => /^https?:\/\/./iu.test(href);

const pieces: PieceDialect = {
  urls: /https?:\/\/[^\s<>]+/gu,
  text: escapeText,
  start: startOf,
  code: (text) => {
    const fence = longerThan(text, 1);
    return /^`|`$|^ .* $/u.test(text) ? `${fence} ${text} ${fence}` : fence + text + fence;
  },
  url: (url) => `[${escapeText(url)}](${encode(url)})`,
  link: (label, href) => `[${escapeText(label)}](${encode(href)})`,
};

const commonMark: Dialect = {
  line,
  heading: (spans, level, inList) =>
    inList ? line(spans.map((span) => ({ ...span, bold: true }))) : `${'#'.repeat(level)} ${line(spans)}`,
  code: (text, language) => {
    const fence = longerThan(text, 3);
    return [fence + (/^[\w+.-]{1,40}$/u.test(language) ? language : ''), ...text.split('\n'), fence];
  },
  rule: () => '***',
  nothing: '&#8203;',
  marker: ({ number }, { other }) => {
    const text = number === undefined ? (other ? '* ' : '- ') : `${number}${other ? ')' : '.'} `;
    return { text, indent: text.length };
  },
  // Without a blank line a paragraph would be read as part of what stands before it.
  apart: (before, row) => row.marked.size === 0 || before.items.length === 0,
  indentsBlank: false,
};

/** Without its emphasis where that would not be read as such. */
function line(spans: readonly Span[]): string {
  const parts = toPieces(spans, pieces.urls);
  const looks = renderPieces(parts, pieces);
  const isPlain = parts.every(({ bold, strike, italic }) => !bold && !strike && !italic);
  if (isPlain || tokenText(parseLine(looks)).trim() === spanText(spans).trim()) return looks;
  return renderPieces(parts, pieces, false);
}

function startOf(markup: string): string {
  return markup.replace(/^(?:[-+#>=]|\d+[.)])/u, (mark) => mark.slice(0, -1) + entity(mark.slice(-1)));
}

function escapeText(text: string): string {
  return text.replaceAll(/[\\`*~|<[\]]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])|[!#]$|&(?=#?\w+;)/gu, entity);
}

function entity(character: string): string {
  return `&#${character.codePointAt(0)};`;
}

/** Backticks, more than stand together in the text. */
function longerThan(text: string, least: number): string {
  const longest = Math.max(0, ...(text.match(/`+/gu) ?? []).map(({ length }) => length));
  return '`'.repeat(Math.max(least, longest + 1));
}

function encode(href: string): string {
  return href.replaceAll(/[()<>\\*~_[\]`\s&]/gu, (character) =>
    character === '&'
      ? '&#38;'
      : character === '_'
        ? '&#95;'
        : `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`,
  );
}
