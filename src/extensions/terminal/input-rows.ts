import { characters, textWidth } from '../../core/api-terminal.ts';
import type { ScreenPlace } from './frame.ts';

export interface InputRows {
  readonly rows: readonly string[];
  readonly cursor: ScreenPlace;
}

/**
 * What is typed, behind its prompt, in rows of less than `width` columns: wrapped lines stand below the first character
 * of the text. Of more than `most` rows those around the cursor are shown.
 */
export function inputRows(
  { prompt, text, cursor }: { readonly prompt: string; readonly text: string; readonly cursor: number },
  { width, most }: { readonly width: number; readonly most: number },
): InputRows {
  const margin = textWidth(prompt) < width / 2 ? textWidth(prompt) : 0;
  const indent = ' '.repeat(margin);
  // The cursor behind a full row needs a column of its own.
  const widest = Math.max(2, width - 1);
  const rows: string[] = [];
  let place: ScreenPlace = { row: 0, column: 0 };
  let row = prompt;
  let column = textWidth(prompt);
  let offset = 0;
  const wrap = (): void => {
    rows.push(row);
    row = indent;
    column = margin;
  };
  const mark = (): void => {
    if (offset === cursor) place = { row: rows.length, column };
  };
  for (const character of characters(text)) {
    const shown = character === '\t' ? '  ' : character;
    const wide = textWidth(shown);
    if (character !== '\n' && column + wide > widest) wrap();
    mark();
    offset += character.length;
    if (character === '\n') {
      wrap();
    } else {
      row += shown;
      column += wide;
    }
  }
  mark();
  rows.push(row);
  if (rows.length <= most) return { rows, cursor: place };
  const first = Math.min(Math.max(0, place.row - Math.floor(most / 2)), rows.length - most);
  return { rows: rows.slice(first, first + most), cursor: { row: place.row - first, column: place.column } };
}
