import {
  renderRows,
  type Dialect,
  literalLine,
  literalParts,
  toSpans,
  type Markup,
  toParts,
  renderPieces,
  toPieces,
  toRows,
  spanText,
  type Span,
  type OpenItems,
  parseLine,
  tokenText,
  type LayoutRow,
} from '../../core/api-channels.ts';
import { BREAK, breakMentions, escapeEntities, isSlackLink, slackPieces } from './markup-text.ts';

/** Slack takes 12,000 characters in all Markdown blocks of a message; some are kept free for the mark of a resend. */
const LIMIT = 11_900;
/** A message has at most 50 blocks, and Slack makes one or two of each heading and rule. */
const BREAKS_LIMIT = 22;
const HEADING_LIMIT = 150;

/** A message for `chat.postMessage`. */
export interface SlackMessage {
  /** Shown in notifications, and to everyone if Slack refuses the block. */
  readonly text: string;
  readonly blocks: readonly [{ readonly type: 'markdown'; readonly text: string }];
}

const slack: Dialect = {
  line,
  heading: (spans, level) => {
    if (!isHeading(spans)) return line(spans.map((span) => ({ ...span, bold: true })));
    return `${'#'.repeat(level)} ${line(spans).replace(/#+$/u, (signs) => signs.replaceAll('#', '\\#'))}`;
  },
  code: (text, language) => {
    const longest = Math.max(2, ...(text.match(/`+/gu) ?? []).map((run) => run.length));
    const fence = '`'.repeat(longest + 1);
    const name = /^[\w+#.-]{1,40}$/u.test(language) ? language : '';
    return [fence + name, ...breakMentions(text).split('\n'), fence];
  },
  // Behind the marker of a list `---` would be one rule together with the marker.
  rule: (marked) => (marked ? '___' : '---'),
  nothing: BREAK,
  marker: ({ number }, { other }) => {
    const text = number === undefined ? (other ? '* ' : '- ') : `${number}${other ? ')' : '.'} `;
    return { text, indent: text.length };
  },
  apart,
  indentsBlank: false,
};

export const slackMarkup: Markup = {
  /** The Markdown of Slack's `markdown` block. */
  render: (markdown) =>
    toParts(toSpans(markdown, isSlackLink), {
      limit: LIMIT,
      count: (spans) => countBreaks(spans) / BREAKS_LIMIT,
      render: (spans) => renderRows(toRows(spans), slack),
      load: (part) => part.length / LIMIT,
    }),
  literal: (text) => literalParts(text, { limit: LIMIT, line: (line) => literalLine(line, slackPieces) }),
  plain: (part) => plainText(part).replaceAll(BREAK, ''),
  marked: (mark, part) => `${mark.trim()}\n\n${part}`,
};

/** A part whose Markdown cannot be read goes out as it is: its plain form is made at each send. */
function plainText(part: string): string {
  try {
    return spanText(toSpans(part, isSlackLink));
  } catch {
    return part;
  }
}

/** A rendered part as Slack takes it. Its mentions are text in both forms. */
export function slackMessage(part: string): SlackMessage {
  return { text: escapeEntities(slackMarkup.plain(part)), blocks: [{ type: 'markdown', text: part }] };
}

/** Renders a line, without its emphasis if Slack would misread that and show other characters than the text has. */
function line(spans: readonly Span[]): string {
  const pieces = toPieces(spans, slackPieces.urls);
  const looks = renderPieces(pieces, slackPieces);
  const isPlain = pieces.every(({ bold, strike, italic }) => !bold && !strike && !italic);
  if (isPlain || shows(looks) === spanText(spans).trim()) return looks;
  return renderPieces(pieces, slackPieces, false);
}

function shows(markdown: string): string {
  return tokenText(parseLine(markdown)).replaceAll(BREAK, '').trim();
}

/** Whether a blank line is needed between two rows, because the second would otherwise join or change the first. */
function apart(before: LayoutRow, row: LayoutRow, items: OpenItems): boolean {
  if (before.quote && !(row.quote && row.sameQuote)) return true;
  const { first } = items;
  if (first !== undefined) {
    if (items.before[items.kept.length]?.list === first.list) return false;
    const isInside = items.kept.length > 0 && items.kept.length === items.before.length;
    const isEmpty = row.type === 'text' && spanText(row.spans).trim() === '';
    return !isInside || isEmpty || (first.number ?? 1) !== 1;
  }
  const isText = before.type === 'text' && !(before.heading !== undefined && isHeading(before.spans));
  return isText && !(row.type === 'code' || (row.type === 'text' && row.heading !== undefined));
}

function isHeading(spans: readonly Span[]): boolean {
  return spanText(spans).length <= HEADING_LIMIT;
}

/** Counts rules and lines of headings. */
function countBreaks(spans: readonly Span[]): number {
  const begins = ({ role, heading, text }: Span, at: number): boolean =>
    role === 'rule' || (heading !== undefined && (text === '\n' || spans[at - 1]?.heading === undefined));
  return spans.filter(begins).length;
}
