import {
  type Dialect,
  literalLine,
  literalParts,
  type Markup,
  renderPieces,
  renderRows,
  type Span,
  spanText,
  toParts,
  toPieces,
  toRows,
  toSpans,
} from '../../core/api-channels.ts';
import { BREAK, discordPieces, isDiscordLink } from './text.ts';

/** Discord takes 2000 characters of markup; some are kept free for the mark of a message that is sent again. */
const LIMIT = 1_990;
const LARGEST_NUMBER = 1_000_000_000;

const discord: Dialect = {
  line,
  heading: (spans, level, inList) => {
    // Discord leaves out number signs at the end of a heading, and knows three levels, outside of lists.
    const isHeading = level <= 3 && !inList && !/#\s*$/u.test(spanText(spans));
    if (isHeading) return `${'#'.repeat(level)} ${line(spans)}`;
    return line(spans.map((span) => ({ ...span, bold: true })));
  },
  code: (text, language) => [
    `\`\`\`${/^[\w+.-]{1,40}$/u.test(language) ? language : ''}`,
    ...text.replace(/``(?=`)/gu, `$&${BREAK}`).split('\n'),
    '```',
  ],
  rule: () => '———',
  nothing: BREAK,
  marker: ({ number, start }, { before }) => {
    // Its numbers begin with one and end with a billion; behind a marker that is only text there is only text.
    const isText = start < 1 || (number ?? 0) > LARGEST_NUMBER || before.includes('\\');
    if (isText) return { text: number === undefined ? '• ' : `${number}\\. `, indent: 0 };
    const text = number === undefined ? '- ' : `${number}. `;
    return { text, indent: text.length };
  },
  // Two lists in a row would be one, with one kind of marker.
  apart: (_, __, { before, kept, first }) => {
    const neighbour = before[kept.length];
    return first !== undefined && neighbour !== undefined && neighbour.list !== first.list;
  },
  indentsBlank: true,
};

/** What a message that says it again begins with must not hide from Discord that a block begins. */
const BLOCK = /^(?:```|> |#|[-*] |\d+\. )/u;

export const discordMarkup: Markup = {
  render: (markdown) =>
    toParts(toSpans(markdown, isDiscordLink), {
      limit: LIMIT,
      render: (spans) => renderRows(toRows(spans), discord),
      load: (part) => part.length / LIMIT,
    }),
  // Discord refuses no text for its markup.
  literal: (text) => literalParts(text, { limit: LIMIT, line: (line) => literalLine(line, discordPieces) }),
  plain: (part) => part,
  marked: (mark, part) => (BLOCK.test(part) ? `${mark.trim()}\n${part}` : mark + part),
};

function line(spans: readonly Span[]): string {
  return renderPieces(toPieces(spans, discordPieces.urls), discordPieces);
}
