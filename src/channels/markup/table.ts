/** Cells by row, the head first. */
export type Rows = readonly (readonly string[])[];

const WIDE = /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60]/u;

/** A table as lines of text whose columns stand under each other in a fixed-width font. */
export function alignTable(rows: Rows, rightAligned: readonly boolean[]): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, column) =>
    Math.max(...rows.map((row) => displayWidth(row[column] ?? ''))),
  );
  const lines = rows.map((row) =>
    widths
      .map((width, column) => pad(row[column] ?? '', width, rightAligned[column] === true))
      .join(' | ')
      .trimEnd(),
  );
  const [head, ...body] = lines;
  return [head, widths.map((width) => '-'.repeat(width)).join('-|-'), ...body].join('\n');
}

function pad(text: string, width: number, right: boolean): string {
  const space = ' '.repeat(Math.max(0, width - displayWidth(text)));
  return right ? space + text : text + space;
}

/** Cells of a fixed-width font: two for wide East Asian characters and emoji. */
function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += WIDE.test(character) ? 2 : 1;
  return width;
}
