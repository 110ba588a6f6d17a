import { cut } from '../../util/text.ts';

/** Which lines of a text are wanted. */
export interface PageWish {
  /** From 1. */
  readonly offset: number;
  /** Most lines. */
  readonly limit: number;
  /** Most characters; one line comes in any case. */
  readonly pageChars: number;
}

export interface LinePage {
  /** Lines with their numbers, a tab between. */
  readonly text: string;
  /** Lines of the whole text. */
  readonly lines: number;
  /** The first line after this page; null: there is none. */
  readonly next: number | null;
}

const LONGEST_LINE = 2_000;

/** A page of a text. Long lines are cut and say how long they are. An offset behind the end gives an empty page. */
export function linePage(text: string, { offset, limit, pageChars }: PageWish): LinePage {
  const lines = text === '' ? [] : text.replace(/\r?\n$/u, '').split(/\r?\n/u);
  const longest = Math.min(LONGEST_LINE, pageChars);
  const shown: string[] = [];
  let used = 0;
  for (const [i, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
    const numbered = `${offset + i}\t${line.length > longest ? `${cut(line, longest)}… (${line.length} characters)` : line}`;
    used += numbered.length + 1;
    if (used > pageChars && shown.length > 0) break;
    shown.push(numbered);
  }
  const next = offset + shown.length;
  return { text: shown.join('\n'), lines: lines.length, next: next <= lines.length ? next : null };
}
