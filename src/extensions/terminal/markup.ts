import type { Token } from 'markdown-it';
import type { Span } from '../../core/api-channels.ts';
import {
  inlineSpans,
  attribute,
  LONGEST_MARKDOWN,
  parseMarkdown,
  paint,
  wrapAnywhere,
  wrapWords,
  type Piece,
  type TerminalLook,
} from '../../core/api-terminal.ts';
import { codePieces } from './markup-code.ts';
import { tableRows } from './markup-table.ts';

type Row = readonly Piece[];

const INDENT: Piece = { text: '  ' };
const LONGEST_RULE = 40;
/** Columns that are left to text however deep it stands. */
const NARROWEST = 10;

/** Markdown as the lines of a terminal, none wider than it. Raw HTML is text; a text over 100,000 units is not read as Markdown. */
export function renderTerminal(markdown: string, look: TerminalLook): readonly string[] {
  const source = markdown.toWellFormed();
  if (source.length > LONGEST_MARKDOWN) {
    return wrapWords([{ text: look.clean(source) }], look.width).map((row) => paint(row, look));
  }
  return new TerminalWriter(look).blocks(parseMarkdown(source), look.width).map((row) => paint(row, look));
}

/** Where the last block of a text begins: what is before it stays as it is when the text grows. 0 while it has one block. */
export function lastBlock(markdown: string): number {
  if (markdown.length > LONGEST_MARKDOWN) return 0;
  const blocks = parseMarkdown(markdown).filter(
    ({ level, nesting, map }) => level === 0 && nesting >= 0 && map !== null,
  );
  const line = blocks.at(-1)?.map?.[0] ?? 0;
  let at = 0;
  for (let n = 0; n < line; n += 1) at = markdown.indexOf('\n', at) + 1;
  return at;
}

class TerminalWriter {
  readonly #look: TerminalLook;

  constructor(look: TerminalLook) {
    this.#look = look;
  }

  /** The rows of blocks that stand in the same place; blank lines are between those that have one in the source. */
  blocks(tokens: readonly Token[], width: number): readonly Row[] {
    const rows: Row[] = [];
    let lastLine: number | undefined;
    for (let at = 0; at < tokens.length;) {
      const end = closing(tokens, at);
      const inside = tokens.slice(at, end);
      const [first] = tokens[at]?.map ?? [0];
      const own = this.#block(inside, Math.max(NARROWEST, width));
      if (own.length > 0) {
        const isApart = lastLine !== undefined && (first > lastLine || tokens[at]?.type === 'heading_open');
        if (isApart) rows.push([]);
        rows.push(...own);
        lastLine = endLine(inside);
      }
      at = end;
    }
    return rows;
  }

  #block(tokens: readonly Token[], width: number): readonly Row[] {
    const [opening] = tokens;
    const inside = tokens.slice(1, -1);
    switch (opening?.type) {
      case 'heading_open': {
        const level = Number(opening.tag.slice(1));
        const look = { bold: true, ...(level === 1 ? { underline: true } : {}) };
        return wrapWords(
          this.#inline(inside[0]).map((piece) => ({ ...piece, ...look })),
          width,
        );
      }
      case 'paragraph_open':
        return wrapWords(this.#inline(inside[0]), width);
      case 'fence':
      case 'code_block': {
        const language = opening.info.trim().split(/\s/u, 1)[0] ?? '';
        const code = this.#look.clean(opening.content.replace(/\n$/u, ''));
        return wrapAnywhere(codePieces(code, language), width - 2).map((row) => [INDENT, ...row]);
      }
      case 'blockquote_open':
        return this.blocks(inside, width - 2).map((row) => [{ text: '│ ', dim: true }, ...row]);
      case 'bullet_list_open':
      case 'ordered_list_open':
        return this.#list(opening, inside, width);
      case 'table_open':
        return this.#table(inside, width);
      case 'hr':
        return [[{ text: '─'.repeat(Math.min(LONGEST_RULE, width)), dim: true }]];
      default:
        return [];
    }
  }

  #list(opening: Token, tokens: readonly Token[], width: number): readonly Row[] {
    const rows: Row[] = [];
    const isOrdered = opening.type === 'ordered_list_open';
    let number = Number(attribute(opening, 'start') || 1);
    let lastLine: number | undefined;
    for (let at = 0; at < tokens.length;) {
      const end = closing(tokens, at);
      const marker = isOrdered ? `${number}. ` : '• ';
      const inside = this.blocks(tokens.slice(at + 1, end - 1), width - marker.length);
      const [first] = tokens[at]?.map ?? [0];
      if (lastLine !== undefined && first > lastLine) rows.push([]);
      const [head = [], ...rest] = inside;
      rows.push([{ text: marker }, ...head]);
      for (const row of rest) rows.push(row.length === 0 ? row : [{ text: ' '.repeat(marker.length) }, ...row]);
      lastLine = endLine(tokens.slice(at, end));
      number += 1;
      at = end;
    }
    return rows;
  }

  #table(tokens: readonly Token[], width: number): readonly Row[] {
    const rows: (readonly Piece[])[][] = [];
    const aligns: ('left' | 'right' | 'center')[] = [];
    for (const token of tokens) {
      if (token.type === 'tr_open') rows.push([]);
      else if (token.type === 'inline') rows.at(-1)?.push(this.#inline(token));
      else if (token.type === 'th_open') {
        const style = attribute(token, 'style');
        aligns.push(style.includes('right') ? 'right' : style.includes('center') ? 'center' : 'left');
      }
    }
    const [head = [], ...body] = rows;
    return tableRows({ head, body, aligns }, width);
  }

  #inline(token: Token | undefined): readonly Piece[] {
    const { hyperlinks, style, clean } = this.#look;
    const canLink = (href: string): boolean => hyperlinks && style !== 'plain' && /^[!-~]+$/u.test(href);
    return inlineSpans(token?.children ?? [], canLink).map((span) => pieceOf(span, { style, clean }));
  }
}

function pieceOf(span: Span, { style, clean }: Pick<TerminalLook, 'style' | 'clean'>): Piece {
  const { bold, italic, strike, code, link } = span;
  const text = clean(span.text);
  return {
    text: code === true && style !== 'color' ? `\`${text}\`` : text,
    ...(bold === true ? { bold } : {}),
    ...(italic === true ? { italic } : {}),
    ...(strike === true ? { strike } : {}),
    ...(code === true ? { tone: 'code' as const } : {}),
    ...(link === undefined ? {} : { link, underline: true }),
  };
}

/** The index behind the block that begins at `at`. */
function closing(tokens: readonly Token[], at: number): number {
  let depth = 0;
  for (let n = at; n < tokens.length; n += 1) {
    depth += tokens[n]?.nesting ?? 0;
    if (depth <= 0) return n + 1;
  }
  return tokens.length;
}

/** The source line behind a block, without the blank lines over which lists and their items reach. */
function endLine(tokens: readonly Token[]): number {
  const leaves = tokens.filter(({ type }) => !/^(?:list_item|bullet_list|ordered_list|blockquote)_open$/u.test(type));
  const reached = leaves.map(({ map }) => map?.[1] ?? 0);
  return Math.max(0, ...reached) || (tokens[0]?.map?.[1] ?? 0);
}
