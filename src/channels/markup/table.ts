/** Cells by row, the head first. */
export type Rows = readonly (readonly string[])[];

/** Wider tables break in every window, and their padding would be most of the text. */
const WIDEST = 200;
const WIDE = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/u;
const SHAPELESS = /[\p{Mn}\p{Me}\p{Cf}]/u;

/** A table as lines of text whose columns stand under each other in a fixed-width font; a very wide one is not padded. */
export function alignTable(rows: Rows, rightAligned: readonly boolean[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, displayWidth(cell));
  }
  const isWide = widths.reduce((sum, width) => sum + width, 3 * (widths.length - 1)) > WIDEST;
  const columns = isWide ? widths.map(() => 0) : widths;
  const lines = rows.map((row) =>
    columns
      .map((width, column) => pad(row[column] ?? '', width, rightAligned[column] === true))
      .join(' | ')
      .trimEnd(),
  );
  const [head, ...body] = lines;
  return [head, columns.map((width) => '-'.repeat(width || 3)).join('-|-'), ...body].join('\n');
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
