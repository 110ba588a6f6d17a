import { oneLine } from '../../core/api-paths.ts';
import { z } from '../../core/api.ts';

/** One exact replacement in a file, as a model asks for it. */
export const fileEditSchema = z.object({
  path: z.string().min(1).describe('Path of the file, e.g. notes/todo.md.'),
  oldText: z
    .string()
    .describe(
      'Exact text to replace, without line numbers; it must occur once unless replaceAll is true. An empty string makes a new file.',
    ),
  newText: z.string().describe('New text in its place. An empty string deletes oldText.'),
  replaceAll: z.boolean().optional().describe('True replaces every occurrence. Default: false.'),
});

export type FileEdit = z.infer<typeof fileEditSchema>;

type EditedText =
  | { readonly text: string; readonly count: number; /** `line 3`, `lines 3, 9`. */ readonly where: string }
  /** `shows`: it repeats something of the text. */
  | { readonly problem: string; readonly shows: boolean };

const LINE_END = /\r\n|\r|\n/gu;

/** How many near misses are named. */
const CANDIDATES = 5;
/** How many lines of occurrences are named. */
const MOST_POSITIONS = 20;

/**
 * Replaces a piece of a text and keeps the text's line ends, whichever of CR, CRLF and LF each line has. What can't be
 * replaced is explained in one sentence with line numbers.
 */
export function editText(text: string, { oldText, newText, replaceAll = false }: Omit<FileEdit, 'path'>): EditedText {
  const flat = toLf(text);
  const wanted = toLf(oldText);
  const positions = occurrences(flat, wanted, replaceAll ? wanted.length : 1);
  if (positions.length === 0) return { problem: notFound(flat, wanted), shows: true };
  const where = linesOf(flat, positions);
  if (positions.length > 1 && !replaceAll) {
    const problem = `oldText occurs ${positions.length} times, at ${where}. Add the lines around it to oldText, or set replaceAll to true.`;
    return { problem, shows: false };
  }
  // An edit that changes nothing but line ends means exactly those.
  const exact = oldText !== newText && toLf(newText) === wanted;
  return {
    text: replaced(text, wanted, exact ? () => newText : (ends) => withEnds(newText, ends)),
    count: positions.length,
    where,
  };
}

function toLf(text: string): string {
  return text.replace(LINE_END, '\n');
}

/** The text with each `wanted` (line ends as `\n`) replaced. `make` gets the line ends that the new piece should use. */
function replaced(text: string, wanted: string, make: (ends: readonly string[]) => string): string {
  const ends = text.match(LINE_END) ?? [];
  const within = wanted.split('\n').length - 1;
  let at = 0;
  const pieces: string[] = [];
  for (const [n, part] of toLf(text).split(wanted).entries()) {
    if (n > 0) {
      const own = ends.slice(at, at + within);
      const nearest = ends[at - 1] ?? ends[at];
      pieces.push(make(own.length > 0 || nearest === undefined ? own : [nearest]));
      at += within;
    }
    pieces.push(part.replaceAll('\n', () => ends[at++] ?? '\n'));
  }
  return pieces.join('');
}

/** The text with these line ends in their order, the last one for the rest. A lone CR in it is kept, it may be data. */
function withEnds(text: string, ends: readonly string[]): string {
  let at = 0;
  return text.replace(/\r?\n/gu, (end) => ends[Math.min(at++, ends.length - 1)] ?? end);
}

/** With a `step` below the length of `wanted` places may overlap. */
function occurrences(text: string, wanted: string, step: number): number[] {
  const positions: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + step)) positions.push(at);
  return positions;
}

function linesOf(text: string, positions: readonly number[]): string {
  const lines = positions.slice(0, MOST_POSITIONS).map((at) => text.slice(0, at).split('\n').length);
  return `${positions.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${positions.length > MOST_POSITIONS ? ', …' : ''}`;
}

/** Names lines that match when white space is ignored: most misses are indentation. */
function notFound(text: string, oldText: string): string {
  const flat = (line: string): string => line.replace(/\s+/gu, ' ').trim();
  const first =
    oldText
      .split('\n')
      .map(flat)
      .find((line) => line !== '') ?? '';
  const near = text
    .split('\n')
    .map((line, i) => ({ line, number: i + 1 }))
    .filter(({ line }) => first !== '' && flat(line).includes(first))
    .slice(0, CANDIDATES);
  const hint =
    near.length === 0
      ? 'Read the file again and copy the text exactly.'
      : `These lines are close: ${near.map(({ line, number }) => `${number}: ${oneLine(line, 80)}`).join(' | ')}. White space must match too.`;
  return `oldText does not occur in the file. ${hint}`;
}
