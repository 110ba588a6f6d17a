import { cut } from '../../util/text.ts';

/** Offsets into a text, `end` not included. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Cuts a text into ranges of at most `limit` UTF-16 units, where possible between paragraphs, else lines, sentences,
 * words. No surrogate pair is cut; only white space at the cuts is left out, never the indentation of a line.
 */
export function splitRanges(text: string, limit: number): readonly Range[] {
  const ranges: Range[] = [];
  let start = afterBreak(text, 0);
  while (start < text.length) {
    const length =
      text.length - start <= limit ? text.length - start : breakAt(text.slice(start, start + limit + 1), limit);
    const end = start + text.slice(start, start + length).trimEnd().length;
    if (end > start) ranges.push({ start, end });
    start = afterBreak(text, start + length);
  }
  return ranges;
}

/** How much of a window of `limit` + 1 units to take. */
function breakAt(window: string, limit: number): number {
  const paragraph = window.lastIndexOf('\n\n');
  if (paragraph >= limit / 4) return paragraph;
  const line = window.lastIndexOf('\n');
  if (line >= limit / 2) return line;
  const sentence = lastEnd(window, /[.!?…。！？]["')\]]*(?=\s)/gu);
  if (sentence >= limit / 2) return sentence;
  const word = lastEnd(window, /\S(?=\s)/gu);
  if (word > 0) return word;
  // A pair of surrogates is taken whole even where only one unit is allowed.
  return cut(window, limit).length || 2;
}

function lastEnd(text: string, pattern: RegExp): number {
  let end = -1;
  for (const match of text.matchAll(pattern)) end = match.index + match[0].length;
  return end;
}

/** Where the next range begins: after the white space, but before the indentation of its first line. */
function afterBreak(text: string, at: number): number {
  const space = /\s*/uy;
  space.lastIndex = at;
  const run = space.exec(text)?.[0] ?? '';
  if (at + run.length === text.length) return text.length;
  const newline = run.lastIndexOf('\n');
  if (newline >= 0) return at + newline + 1;
  return at === 0 ? 0 : at + run.length;
}
