import { cut } from '../../util/text.ts';
import { graphemesOf } from './graphemes.ts';

/** Offsets into a text, `end` not included. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** Longer runs of characters that belong together (marks upon marks) are cut like any text. */
const LONGEST_CLUSTER = 64;

/**
 * Cuts a text into ranges of at most `limit` UTF-16 units, where possible between paragraphs, else lines, sentences,
 * words, graphemes. No surrogate pair is cut; only white space at the cuts is left out, never the
 * indentation of a line.
 */
export function splitRanges(text: string, limit: number): readonly Range[] {
  const ranges: Range[] = [];
  for (let start = afterBreak(text, 0); start < text.length;) {
    const { range, next } = nextRange(text, start, limit);
    if (range.end > range.start) ranges.push(range);
    start = next;
  }
  return ranges;
}

/** The first range of what is left at `start`, empty if that begins with white space only, and where the rest begins. */
export function nextRange(
  text: string,
  start: number,
  limit: number,
): { readonly range: Range; readonly next: number } {
  const rest = text.length - start;
  const length = rest <= limit ? rest : breakAt(text.slice(start, start + limit + LONGEST_CLUSTER), limit);
  const end = start + text.slice(start, start + length).trimEnd().length;
  return { range: { start, end }, next: afterBreak(text, start + length) };
}

/** How many units of `beyond`, a text that is longer than `limit`, the next range takes. */
function breakAt(beyond: string, limit: number): number {
  const window = beyond.slice(0, limit + 1);
  const paragraph = window.lastIndexOf('\n\n');
  if (paragraph >= limit / 4) return paragraph;
  const line = window.lastIndexOf('\n');
  if (line >= limit / 2) return line;
  const sentence = lastEnd(window, /[.!?…]["')\]]*(?=\s)|[。！？][」』）]*(?=[^])/gu);
  if (sentence >= limit / 2) return sentence;
  const word = lastEnd(window, /\S(?=\s)/gu);
  if (word > 0) return word;
  return hardCut(beyond, limit);
}

/** Cuts between two graphemes; a surrogate pair is taken whole even where only one unit is allowed. */
function hardCut(beyond: string, limit: number): number {
  const plain = cut(beyond, limit).length || 2;
  const from = Math.max(0, plain - LONGEST_CLUSTER);
  const cluster = graphemesOf(beyond.slice(from)).containing(plain - from);
  const boundary = from + (cluster?.index ?? plain - from);
  return boundary > from ? boundary : plain;
}

function lastEnd(text: string, pattern: RegExp): number {
  let end = -1;
  for (const match of text.matchAll(pattern)) end = match.index + match[0].length;
  return end;
}

/** Where a range begins: after the white space, but before the indentation of its first line. */
export function afterBreak(text: string, at: number): number {
  const space = /\s*/uy;
  space.lastIndex = at;
  const run = space.exec(text)?.[0] ?? '';
  if (at + run.length === text.length) return text.length;
  const newline = run.lastIndexOf('\n');
  if (newline >= 0) return at + newline + 1;
  return at === 0 ? 0 : at + run.length;
}
