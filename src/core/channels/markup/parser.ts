import MarkdownIt, { type StateBlock, type Token } from 'markdown-it';

/** Longer texts are not read as Markdown: no text, however it was made, may keep the process busy. */
export const LONGEST_MARKDOWN = 100_000;

/** Blocks inside of each other, a list counting two; what is deeper is a paragraph. */
const DEEPEST = 20;

const parser = new MarkdownIt({ html: false, linkify: false });

// The parser's own limit leaves out what is deeper.
parser.block.ruler.before('table', 'too-deep', (state, first, after, silent) => {
  if (silent || state.level < DEEPEST) return false;
  let next = first + 1;
  while (next < after && (state.isEmpty(next) || (state.sCount[next] ?? 0) >= state.blkIndent)) next += 1;
  paragraph(state, first, next);
  return true;
});

function paragraph(state: StateBlock, first: number, next: number): void {
  state.line = next;
  state.push('paragraph_open', 'p', 1).map = [first, next];
  const inline = state.push('inline', '', 0);
  inline.content = state.getLines(first, next, state.blkIndent, false).trim();
  inline.map = [first, next];
  inline.children = [];
  state.push('paragraph_close', 'p', -1);
}

const SLACK_LINK = /<(?<href>https?:\/\/[^\s<>|]+)\|(?<label>[^<>|\n]+)>/uy;

// Models write links as Slack's API has them, `<https://example.com|label>`, which CommonMark doesn't know.
parser.inline.ruler.before('autolink', 'slack-link', (state, silent) => {
  SLACK_LINK.lastIndex = state.pos;
  const { 0: whole, groups } = SLACK_LINK.exec(state.src) ?? {};
  if (whole === undefined) return false;
  if (!silent) {
    state.push('link_open', 'a', 1).attrs = [['href', groups?.['href'] ?? '']];
    state.push('text', '', 0).content = groups?.['label'] ?? '';
    state.push('link_close', 'a', -1);
  }
  state.pos += whole.length;
  return true;
});

/** CommonMark with tables and strikethrough; raw HTML is text. */
export function parseMarkdown(markdown: string): readonly Token[] {
  return parser.parse(markdown, {});
}

/** A line of text without blocks. */
export function parseLine(markdown: string): readonly Token[] {
  return parser.parseInline(markdown, {})[0]?.children ?? [];
}

export function attribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? '');
}

/** What inline tokens say, without how it looks. */
export function tokenText(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'softbreak' || token.type === 'hardbreak') return ' ';
      return token.type === 'image' ? tokenText(token.children ?? []) : token.content;
    })
    .join('');
}
