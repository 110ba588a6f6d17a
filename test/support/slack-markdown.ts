import MarkdownIt, { type Token } from 'markdown-it';
import { isInvisible } from '../../src/core/channels/markup/spans.ts';

/** What people see of a `markdown` block, and what of it should not have been sent. */
export interface SlackReading {
  readonly visible: string;
  readonly problems: readonly string[];
}

const LONGEST = 12_000;
const MOST_BLOCKS = 50;
const MENTION = /<(?:[@#][A-Z0-9]+|!(?:channel|here|everyone|group|subteam\^[^>]*|date\^[^>]*))(?:\|[^>]*)?>/u;

/** CommonMark, tables and strikethrough, as the block's documentation lists them. */
const parser = new MarkdownIt({ html: true });
/** As it was loaded: a test may break what the assistant parses with. */
const parse = parser.parse.bind(parser);

/**
 * Reads the text of a `markdown` block. Reported are mentions wherever they stand, Slack's own `<…>` outside of code, HTML,
 * pictures, tables (they are sent as code), links that lead elsewhere than the web or a mailbox, and what the API refuses.
 */
export function readSlack(text: string): SlackReading {
  const problems: string[] = [];
  if (text.length > LONGEST) problems.push(`${text.length} characters`);
  if (isInvisible(text)) problems.push('empty');
  if (!text.isWellFormed()) problems.push('half a character');
  if (MENTION.test(text)) problems.push(`a mention: ${MENTION.exec(text)?.[0]}`);
  const numbers: (number | undefined)[] = [];
  const tokens = parse(text, {});
  let blocks = 1;
  let visible = '';
  for (const token of tokens) {
    if (token.type === 'heading_open' || token.type === 'hr') blocks += 2;
    visible += shownBy(token, numbers, problems);
  }
  if (blocks > MOST_BLOCKS) problems.push(`${blocks} blocks`);
  return { visible, problems };
}

function shownBy(token: Token, numbers: (number | undefined)[], problems: string[]): string {
  switch (token.type) {
    case 'bullet_list_open':
      numbers.push(undefined);
      return '';
    case 'ordered_list_open':
      numbers.push(Number(token.attrGet('start') ?? 1));
      return '';
    case 'bullet_list_close':
    case 'ordered_list_close':
      numbers.pop();
      return '';
    case 'list_item_open': {
      const number = numbers.at(-1);
      if (number === undefined) return '• ';
      numbers[numbers.length - 1] = number + 1;
      return `${number}. `;
    }
    case 'list_item_close':
    case 'paragraph_close':
    case 'heading_close':
      return '\n';
    case 'fence':
      return `\n${token.content}\n`;
    case 'hr':
      return '———\n';
    case 'inline':
      return (token.children ?? []).map((child) => shownInline(child, problems)).join('');
    case 'code_block':
    case 'html_block':
    case 'table_open':
      problems.push(`unwanted ${token.type}: ${token.content.trim()}`);
      return token.content;
    default:
      return '';
  }
}

function shownInline(token: Token, problems: string[]): string {
  if (token.type === 'softbreak' || token.type === 'hardbreak') return '\n';
  if (token.type === 'html_inline' || token.type === 'image') problems.push(`unwanted ${token.type}: ${token.content}`);
  if (token.type === 'link_open') {
    const href = String(token.attrGet('href'));
    if (!/^(?:https?:\/\/|mailto:)/iu.test(href)) problems.push(`a link elsewhere: ${href}`);
    if (token.markup === 'autolink') problems.push(`an address in Slack's own brackets: ${href}`);
  }
  return token.content;
}
