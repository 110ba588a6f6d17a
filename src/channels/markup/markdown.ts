import MarkdownIt, { type Token } from 'markdown-it';
import type { Span } from './spans.ts';
import { alignTable } from './table.ts';

const parser = new MarkdownIt({ html: false, linkify: false });

const LINK_LIMIT = 2_000;
const RULE = '———';
const BULLET = '• ';
const INDENT = '  ';

type Style = Omit<Span, 'text'>;

interface Item {
  readonly opening: Token;
  readonly marker: string;
  /** Its marker is not written yet. */
  fresh: boolean;
}

/** Markdown (CommonMark, tables, strikethrough) as spans. Raw HTML is text. */
export function toSpans(markdown: string): readonly Span[] {
  const writer = new SpanWriter();
  const tokens = parser.parse(markdown.toWellFormed(), {});
  for (let at = 0; at < tokens.length; at += 1) {
    const token = tokens[at];
    if (token === undefined) break;
    if (token.type === 'table_open') {
      const opening = at;
      while (at < tokens.length && tokens[at]?.type !== 'table_close') at += 1;
      writer.table(token, tokens.slice(opening, at));
    } else {
      writer.block(token);
    }
  }
  return writer.spans;
}

class SpanWriter {
  readonly spans: Span[] = [];
  readonly #items: Item[] = [];
  #quotes = 0;
  /** Which of the outermost quotes this is; 0 outside. */
  #quote = 0;
  #lastQuote = 0;
  #quotesSeen = 0;
  #heading = false;
  /** The source line after the block before. */
  #lastLine = 0;

  block(token: Token): void {
    switch (token.type) {
      case 'blockquote_open':
        this.#quotes += 1;
        if (this.#quotes === 1) this.#quote = this.#quotesSeen += 1;
        return;
      case 'blockquote_close':
        this.#quotes -= 1;
        if (this.#quotes === 0) this.#quote = 0;
        return;
      case 'list_item_open':
        this.#openItem(token);
        return;
      case 'list_item_close':
        this.#closeItem();
        return;
      case 'heading_open':
        this.#heading = true;
        this.#begin(token);
        return;
      case 'heading_close':
        this.#heading = false;
        return;
      case 'paragraph_open':
        this.#begin(token);
        return;
      case 'inline':
        this.#inline(token.children ?? []);
        return;
      case 'fence':
      case 'code_block':
        this.#preformatted(token, token.content.replace(/\n$/u, ''), token.info.trim().split(/\s/u, 1)[0] ?? '');
        return;
      case 'hr':
        this.#begin(token);
        this.#write(RULE);
        return;
    }
  }

  table(opening: Token, tokens: readonly Token[]): void {
    const rows: string[][] = [];
    const rightAligned: boolean[] = [];
    for (const token of tokens) {
      if (token.type === 'tr_open') rows.push([]);
      else if (token.type === 'th_open') rightAligned.push(attribute(token, 'style').includes('right'));
      else if (token.type === 'inline') rows.at(-1)?.push(textOf(token.children ?? []));
    }
    this.#preformatted(opening, alignTable(rows, rightAligned), '');
  }

  #openItem(opening: Token): void {
    const marker = opening.info === '' ? BULLET : `${opening.info}${opening.markup} `;
    this.#items.push({ opening, marker, fresh: true });
  }

  /** An item without content still shows its marker. */
  #closeItem(): void {
    const item = this.#items.at(-1);
    if (item?.fresh === true) this.#begin(item.opening);
    this.#items.pop();
  }

  #preformatted(token: Token, text: string, language: string): void {
    this.#begin(token);
    if (this.#items.length > 0 && this.spans.at(-1)?.text.endsWith('\n') === false) this.#write('\n');
    this.#write(text, { pre: language });
  }

  /** The gap to the block before, as in the source; then the indentation and the markers of the list items around. */
  #begin(token: Token): void {
    const [first, after] = token.map ?? [this.#lastLine, this.#lastLine];
    if (this.spans.length > 0) {
      const gap = first > this.#lastLine ? '\n\n' : '\n';
      const inside = this.#quote !== 0 && this.#quote === this.#lastQuote;
      this.spans.push({ text: gap, ...(inside ? { quote: true } : {}) });
    }
    this.#lastLine = after;
    this.#lastQuote = this.#quote;
    this.#write(this.#items.map((item) => (item.fresh ? item.marker : INDENT)).join(''));
    for (const item of this.#items) item.fresh = false;
  }

  #inline(tokens: readonly Token[]): void {
    let strong = 0;
    let emphasis = 0;
    let strike = 0;
    let href: string | undefined;
    let linkBegan = 0;
    for (const token of tokens) {
      const link = href !== undefined && isSafeLink(href) ? href : undefined;
      const style: Style = {
        ...(strong > 0 || this.#heading ? { bold: true } : {}),
        ...(emphasis > 0 ? { italic: true } : {}),
        ...(strike > 0 ? { strike: true } : {}),
        ...(link === undefined ? {} : { link }),
      };
      switch (token.type) {
        case 'strong_open':
        case 'strong_close':
          strong += token.nesting;
          break;
        case 'em_open':
        case 'em_close':
          emphasis += token.nesting;
          break;
        case 's_open':
        case 's_close':
          strike += token.nesting;
          break;
        case 'link_open':
          href = attribute(token, 'href');
          linkBegan = this.spans.length;
          break;
        case 'link_close':
          if (this.spans.length === linkBegan) this.#write(href ?? '', style);
          else if (link === undefined && href !== undefined && href !== '') this.#write(` (${href})`, style);
          href = undefined;
          break;
        case 'image':
          this.#image(token, style);
          break;
        case 'softbreak':
        case 'hardbreak':
          this.#write(`\n${INDENT.repeat(this.#items.length)}`, style);
          break;
        case 'code_inline':
          this.#write(token.content, { ...style, code: true });
          break;
        default:
          this.#write(token.content, style);
      }
    }
  }

  #image(token: Token, style: Style): void {
    const source = attribute(token, 'src');
    const label = textOf(token.children ?? []).trim() || source;
    this.#write(label, style.link === undefined && isSafeLink(source) ? { ...style, link: source } : style);
  }

  #write(text: string, style: Style = {}): void {
    if (text !== '') this.spans.push({ text, ...style, ...(this.#quotes > 0 ? { quote: true } : {}) });
  }
}

function attribute(token: Token, name: string): string {
  return String(token.attrGet(name) ?? '');
}

function isSafeLink(href: string): boolean {
  return href.length <= LINK_LIMIT && /^(?:https?:\/\/|tg:\/\/|mailto:)./iu.test(href);
}

/** What inline tokens say, without how it looks. */
function textOf(tokens: readonly Token[]): string {
  return tokens
    .map((token) => {
      if (token.type === 'softbreak' || token.type === 'hardbreak') return ' ';
      return token.type === 'image' ? textOf(token.children ?? []) : token.content;
    })
    .join('');
}
