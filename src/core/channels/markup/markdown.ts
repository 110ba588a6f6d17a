import type { Token } from 'markdown-it';
import { inlineSpans, type LinkRule } from './inline.ts';
import { attribute, LONGEST_MARKDOWN, parseMarkdown, tokenText } from './parser.ts';
import { isInvisible, spanText, type ListItem, type SpanRole, type Span } from './spans.ts';

/** Cells by row, the head first. */
type Rows = readonly (readonly string[])[];

/** Wider tables break in every window, and their padding would be most of the text. */
const WIDEST = 200;

const WIDE = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/u;

const SHAPELESS = /[\p{Mn}\p{Me}\p{Cf}]/u;

const RULE = '———';
const BULLET = '• ';
const INDENT = '  ';

interface OpenList {
  readonly list: symbol;
  readonly start: number;
  next: number | undefined;
}

interface OpenItem extends ListItem {
  readonly opening: Token;
  /** Its marker is not written yet. */
  fresh: boolean;
}

/**
 * Markdown (CommonMark, tables, strikethrough) as spans. Raw HTML is text. What shows nothing as Markdown, such as a lone
 * link definition, and what is longer than 100,000 units is shown as it was written.
 */
export function toSpans(markdown: string, canLink: LinkRule): readonly Span[] {
  const source = markdown.toWellFormed();
  if (source.length > LONGEST_MARKDOWN) return [{ text: source }];
  const writer = new SpanWriter(canLink);
  const tokens = parseMarkdown(source);
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
  return isInvisible(spanText(writer.spans)) ? [{ text: source }] : writer.spans;
}

class SpanWriter {
  readonly spans: Span[] = [];
  readonly #canLink: LinkRule;
  readonly #lists: OpenList[] = [];
  readonly #items: OpenItem[] = [];
  #quotes = 0;
  /** Which of the outermost quotes this is; 0 outside. */
  #quote = 0;
  #lastQuote = 0;
  #quotesSeen = 0;
  #heading = 0;
  /** The source line after the block before. */
  #lastLine = 0;

  constructor(canLink: LinkRule) {
    this.#canLink = canLink;
  }

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
      case 'bullet_list_open':
        this.#lists.push({ list: Symbol('list'), start: 1, next: undefined });
        return;
      case 'ordered_list_open': {
        const start = Number(attribute(token, 'start') || 1);
        this.#lists.push({ list: Symbol('list'), start, next: start });
        return;
      }
      case 'bullet_list_close':
      case 'ordered_list_close':
        this.#lists.pop();
        return;
      case 'list_item_open':
        this.#openItem(token);
        return;
      case 'list_item_close':
        this.#closeItem();
        return;
      case 'heading_open':
        this.#heading = Number(token.tag.slice(1));
        this.#begin(token);
        return;
      case 'heading_close':
        this.#heading = 0;
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
        this.#write({ text: RULE, role: 'rule' });
        return;
    }
  }

  table(opening: Token, tokens: readonly Token[]): void {
    const rows: string[][] = [];
    const rightAligned: boolean[] = [];
    for (const token of tokens) {
      if (token.type === 'tr_open') rows.push([]);
      else if (token.type === 'th_open') rightAligned.push(attribute(token, 'style').includes('right'));
      else if (token.type === 'inline')
        rows.at(-1)?.push(tokenText(token.children ?? []).replaceAll(/<br\s*\/?>/giu, '\n'));
    }
    const { text, head } = alignTable(rows, rightAligned);
    this.#preformatted(opening, text, '', head);
  }

  #openItem(opening: Token): void {
    const list = this.#lists.at(-1);
    const number = list?.next;
    if (list !== undefined && number !== undefined) list.next = number + 1;
    this.#items.push({
      parent: this.#items.at(-1),
      list: list?.list ?? Symbol('list'),
      number,
      start: list?.start ?? 1,
      opening,
      fresh: true,
    });
  }

  /** An item without content still shows its marker. */
  #closeItem(): void {
    const item = this.#items.at(-1);
    if (item?.fresh === true) this.#begin(item.opening);
    this.#items.pop();
  }

  #preformatted(token: Token, text: string, language: string, head?: number): void {
    this.#begin(token);
    if (this.#items.length > 0 && this.spans.at(-1)?.role !== 'gap') this.#write({ text: '\n', role: 'indent' });
    if (!isInvisible(text)) this.#write({ text, pre: language, ...(head === undefined ? {} : { head }) });
  }

  /** The gap to the block before, as in the source; then the indentation and the markers of the list items around. */
  #begin(token: Token): void {
    const [first, after] = token.map ?? [this.#lastLine, this.#lastLine];
    if (this.spans.length > 0) {
      this.#gap(first > this.#lastLine ? '\n\n' : '\n', this.#quote !== 0 && this.#quote === this.#lastQuote);
    }
    this.#lastLine = after;
    this.#lastQuote = this.#quote;
    for (const item of this.#items) {
      if (item.fresh) this.#marker(item);
      else this.#write({ text: INDENT, role: 'indent' });
      item.fresh = false;
    }
  }

  #marker(item: OpenItem): void {
    const text = item.number === undefined ? BULLET : `${item.number}. `;
    this.spans.push({ text, role: 'marker', item, ...this.#around() });
  }

  #gap(text: string, inQuote: boolean): void {
    const role: SpanRole = 'gap';
    this.spans.push({ text, role, ...(inQuote ? { quote: true } : {}) });
  }

  #inline(tokens: readonly Token[]): void {
    const heading = this.#heading > 0 ? { heading: this.#heading } : {};
    for (const span of inlineSpans(tokens, this.#canLink)) {
      this.#write({ ...span, ...heading });
      if (span.text === '\n') {
        for (const _ of this.#items) this.#write({ ...span, ...heading, text: INDENT, role: 'indent' });
      }
    }
  }

  #write(span: Span): void {
    if (span.text === '') return;
    const item = this.#items.at(-1);
    this.spans.push({ ...span, ...this.#around(), ...(item === undefined ? {} : { item }) });
  }

  #around(): { quote?: boolean } {
    return this.#quotes > 0 ? { quote: true } : {};
  }
}

/**
 * A table as lines of text whose columns stand under each other in a fixed-width font; a very wide one is not padded. `head`: how many
 * units its head has, with the line under it.
 */
function alignTable(rows: Rows, rightAligned: readonly boolean[]): { readonly text: string; readonly head: number } {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) {
      widths[column] = Math.max(widths[column] ?? 0, ...cell.split('\n').map(displayWidth));
    }
  }
  const isWide = widths.reduce((sum, width) => sum + width, 3 * (widths.length - 1)) > WIDEST;
  const columns = isWide ? widths.map(() => 0) : widths;
  const [head = '', ...body] = rows.map((row) => {
    const cells = columns.map((_, column) => (row[column] ?? '').split('\n'));
    const lines = Array.from({ length: Math.max(1, ...cells.map(({ length }) => length)) }, (_, n) =>
      columns
        .map((width, column) => pad(cells[column]?.[n] ?? '', width, rightAligned[column] === true))
        .join(' | ')
        .trimEnd(),
    );
    return lines.join('\n');
  });
  const top = `${head}\n${columns.map((width) => '-'.repeat(width || 3)).join('-|-')}`;
  return { text: [top, ...body].join('\n'), head: top.length + 1 };
}

function pad(text: string, width: number, right: boolean): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return right ? space + text : text + space;
}

/** Cells of a fixed-width font: two for wide East Asian characters and emoji, none for marks and joiners. */
function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 2 : SHAPELESS.test(character) ? 0 : 1;
  return width;
}
