import { rowWidth, wrapWords, type Piece } from '../../core/api-terminal.ts';

type Cell = readonly Piece[];
type Row = readonly Piece[];
type Align = 'left' | 'right' | 'center';

export interface TerminalTable {
  readonly head: readonly Cell[];
  readonly body: readonly (readonly Cell[])[];
  readonly aligns: readonly Align[];
}

/** Columns narrower than this are not read as a table any more. */
const NARROWEST = 6;
/** Columns that ` │ ` takes between two. */
const BORDER = 3;

/** A table of at most `width` columns: cells are wrapped, and where the columns would be too narrow each row is a list. */
export function tableRows({ head, body, aligns }: TerminalTable, width: number): readonly Row[] {
  const rows = [head, ...body];
  const widest = (column: number, most: number): number =>
    Math.max(1, ...rows.flatMap((row) => wrapWords(row[column] ?? [], most).map(rowWidth)));
  const natural = head.map((_, column) => widest(column, Number.MAX_SAFE_INTEGER));
  // Wrapped at words, a column may be narrower than it is allowed to be.
  const widths = fit(natural, width - BORDER * (head.length - 1))?.map((most, column) => widest(column, most));
  if (widths === undefined) return body.flatMap((row, at) => [...(at > 0 ? [[]] : []), ...record(head, row, width)]);
  const line = (row: readonly Cell[], bold: boolean): readonly Row[] => {
    const cells = widths.map((wide, column) => wrapWords(row[column] ?? [], wide));
    return Array.from({ length: Math.max(1, ...cells.map(({ length }) => length)) }, (_, n) =>
      widths.flatMap((wide, column): Row => {
        const text = (cells[column]?.[n] ?? []).map((piece) => (bold ? { ...piece, bold } : piece));
        const border: Row = column === 0 ? [] : [{ text: ' │ ', dim: true }];
        return [...border, ...padded(text, wide, aligns[column] ?? 'left')];
      }),
    ).map(trimmed);
  };
  const rule: Row = [{ text: widths.map((wide) => '─'.repeat(wide)).join('─┼─'), dim: true }];
  const lines = body.map((row) => line(row, false));
  const isWrapped = lines.some(({ length }) => length > 1);
  return [...line(head, true), rule, ...lines.flatMap((each, at) => (isWrapped && at > 0 ? [rule, ...each] : each))];
}

/** The columns cut down, the widest first, until they fit; undefined where they cannot. */
function fit(natural: readonly number[], space: number): readonly number[] | undefined {
  const widths = [...natural];
  let excess = widths.reduce((sum, wide) => sum + wide, 0) - space;
  while (excess > 0) {
    const most = Math.max(...widths);
    if (most <= NARROWEST) return undefined;
    widths[widths.indexOf(most)] = most - 1;
    excess -= 1;
  }
  return widths;
}

function record(head: readonly Cell[], row: readonly Cell[], width: number): readonly Row[] {
  return head.flatMap((name, column) => {
    const label = name.map((piece): Piece => ({ ...piece, bold: true }));
    return wrapWords([...label, { text: ': ' }, ...(row[column] ?? [])], width);
  });
}

function padded(row: Row, width: number, align: Align): Row {
  const space = Math.max(0, width - rowWidth(row));
  const before = align === 'left' ? 0 : align === 'right' ? space : Math.floor(space / 2);
  return [{ text: ' '.repeat(before) }, ...row, { text: ' '.repeat(space - before) }];
}

/** Without the spaces at its end. */
function trimmed(row: Row): Row {
  const last = row.findLastIndex(({ text }) => text.trim() !== '');
  return row.slice(0, last + 1).map((piece, at) => (at === last ? { ...piece, text: piece.text.trimEnd() } : piece));
}
