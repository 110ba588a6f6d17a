import type { Span } from './spans.ts';

/** What stands in a line: text with a look, or something that has none beside its own. */
export interface LinePiece {
  readonly type: 'text' | 'code' | 'url' | 'link';
  readonly text: string;
  readonly href: string;
  readonly bold: boolean;
  readonly strike: boolean;
  readonly italic: boolean;
}

/** How a platform that reads a kind of Markdown wants what stands in a line. */
export interface PieceDialect {
  readonly text: (text: string) => string;
  /** Escapes what only means something at the beginning of a line, in a text that is written already. */
  readonly start: (markup: string) => string;
  readonly code: (text: string) => string;
  readonly url: (url: string) => string;
  readonly link: (label: string, href: string) => string;
  /** What such a platform takes for an address in plain text. Global. */
  readonly urls: RegExp;
}

const PLAIN = { href: '', bold: false, strike: false, italic: false };

/** A line begins with no white space; markup stands around words; code and bare addresses stand alone. */
export function toPieces(spans: readonly Span[], urls: RegExp): readonly LinePiece[] {
  const pieces: LinePiece[] = [];
  for (const [at, span] of spans.entries()) {
    const { text, link: href } = span;
    const style = { bold: span.bold === true, strike: span.strike === true, italic: span.italic === true };
    const last = pieces.at(-1);
    if (href !== undefined) {
      if (last?.type === 'link' && spans[at - 1]?.link === href) pieces[pieces.length - 1] = joined(last, text, style);
      else pieces.push({ type: 'link', href, text, ...style, italic: false });
    } else if (span.code === true) {
      if (last?.type === 'code') pieces[pieces.length - 1] = { ...last, text: last.text + text };
      else pieces.push({ ...PLAIN, type: 'code', text });
    } else {
      pieces.push(...textPieces(text, style, urls));
    }
  }
  const first = pieces.findIndex(({ text }) => text.trim() !== '');
  return first < 0 ? [] : pieces.slice(first);
}

/** A line as markup. Where `emphasis` is false, or where it could not be read, text has no look. */
export function renderPieces(pieces: readonly LinePiece[], dialect: PieceDialect, emphasis = true): string {
  let markup = '';
  let open: readonly string[] = [];
  for (const [at, piece] of pieces.entries()) {
    const marks = emphasis ? marksOf(piece, pieces[at - 1], pieces[at + 1]) : [];
    let same = 0;
    while (same < open.length && open[same] === marks[same]) same += 1;
    markup += open.slice(same).reverse().join('') + marks.slice(same).join('');
    markup += at === 0 ? dialect.start(write(piece, dialect)) : write(piece, dialect);
    open = marks;
  }
  return (markup + [...open].reverse().join('')).trimEnd();
}

function write({ type, text, href }: LinePiece, dialect: PieceDialect): string {
  switch (type) {
    case 'text':
      return dialect.text(text);
    case 'code':
      return dialect.code(text);
    case 'url':
      return dialect.url(text);
    case 'link':
      return text.trim() === '' ? dialect.text(text) : dialect.link(text, href);
  }
}

/** From the outside in. */
function marksOf(piece: LinePiece, before: LinePiece | undefined, after: LinePiece | undefined): readonly string[] {
  const marks: string[] = [];
  if (piece.bold) marks.push('**');
  if (isStruck(piece)) marks.push('~~');
  if (piece.italic) {
    const inWord = /[\p{L}\p{N}_]$/u.test(before?.text ?? '') || /^[\p{L}\p{N}_]/u.test(after?.text ?? '');
    const touchesStrike = isStruck(before) && !isStruck(piece);
    if (!inWord && !touchesStrike) marks.push('_');
    // Between other stars no one could tell which belong together.
    else if (before?.bold !== true && after?.bold !== true) marks.push('*');
  }
  return marks;
}

/** Where escapes do not count, the sign itself would end it too early. */
function isStruck(piece: LinePiece | undefined): boolean {
  return piece?.strike === true && !piece.text.includes('~');
}

function textPieces(
  text: string,
  style: Pick<LinePiece, 'bold' | 'strike' | 'italic'>,
  urls: RegExp,
): readonly LinePiece[] {
  const pieces: LinePiece[] = [];
  let at = 0;
  const words = (end: number): void => {
    const whole = text.slice(at, end);
    const inner = whole.trim();
    const first = whole.length - whole.trimStart().length;
    const add = (text: string, look: typeof style): void => {
      if (text !== '') pieces.push({ ...PLAIN, type: 'text', text, ...look });
    };
    add(whole.slice(0, first), PLAIN);
    add(inner, style);
    add(whole.slice(first + inner.length), PLAIN);
  };
  for (const match of text.matchAll(urls)) {
    const url = trimUrl(match[0]);
    if (!/^https?:\/\/[^/]/u.test(url)) continue;
    words(match.index);
    pieces.push({ ...PLAIN, type: 'url', text: url });
    at = match.index + url.length;
  }
  words(text.length);
  return pieces;
}

/** Without the punctuation of the sentence around it, a bracket that it does not open included. */
function trimUrl(url: string): string {
  let end = url.length;
  let unopened = count(url, ')') - count(url, '(');
  for (; end > 0; end -= 1) {
    const last = url.charAt(end - 1);
    if (last === ')' && unopened > 0) unopened -= 1;
    else if (!'.,:;!?"\'\\]}*_~|`'.includes(last)) break;
  }
  return url.slice(0, end);
}

function count(text: string, character: string): number {
  return text.split(character).length - 1;
}

function joined(piece: LinePiece, text: string, style: Pick<LinePiece, 'bold' | 'strike'>): LinePiece {
  return {
    ...piece,
    text: piece.text + text,
    bold: piece.bold && style.bold,
    strike: piece.strike && style.strike,
  };
}
