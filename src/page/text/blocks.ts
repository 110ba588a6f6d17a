import { parser } from './parser.ts';

/** A growing Markdown text in its blocks: paragraphs, lists, fences, … */
export interface Blocks {
  readonly text: string;
  /** The last may still change, the others do not. */
  readonly sources: readonly string[];
}

export const NO_BLOCKS: Blocks = { text: '', sources: [] };

/** Cuts a text that has grown; only its last block and what is new are read. */
export function growBlocks(before: Blocks, text: string): Blocks {
  if (text === before.text) return before;
  const isLonger = text.startsWith(before.text);
  const kept = isLonger ? before.sources.slice(0, -1) : [];
  const length = kept.reduce((sum, source) => sum + source.length, 0);
  return { text, sources: [...kept, ...cut(text.slice(length))] };
}

function cut(text: string): readonly string[] {
  const lines = text.split(/(?<=\n)/u);
  const starts = parser
    .parse(text, {})
    .filter(({ level, nesting, map }) => level === 0 && nesting >= 0 && map !== null)
    .map(({ map }) => map?.[0] ?? 0);
  // What stands before the first block, such as blank lines, belongs to it.
  const bounds = [0, ...starts.slice(1), lines.length];
  return bounds.slice(0, -1).map((start, at) => lines.slice(start, bounds[at + 1]).join(''));
}
