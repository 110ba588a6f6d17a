import type { PieceDialect } from './pieces.ts';
import { splitRanges } from './split.ts';

export interface Literal {
  /** UTF-16 units of text in a part. */
  readonly limit: number;
  /** UTF-16 units of a part with its escapes. @default `limit` */
  readonly escapedLimit?: number;
  /** A line so that the platform shows it as it is. */
  readonly line: (line: string) => string;
}

/** A text as parts that show it as it is, its Markdown unread. None for blank text. */
export function literalParts(text: string, how: Literal): readonly string[] {
  const { limit, escapedLimit = limit, line } = how;
  return splitRanges(text, limit).flatMap(({ start, end }) => {
    const piece = text.slice(start, end);
    const escaped = piece.split('\n').map(line).join('\n');
    if (escaped.length <= escapedLimit || limit <= 2) return [escaped];
    return literalParts(piece, { ...how, limit: Math.floor(limit / 2), escapedLimit });
  });
}

/** Escapes a line, its beginning too; its indentation is kept from being read as code or as part of a list. */
export function literalLine(line: string, { text, start }: Pick<PieceDialect, 'text' | 'start'>): string {
  const rest = line.trimStart();
  const indent = line.slice(0, line.length - rest.length).replaceAll('\t', '    ');
  return '\u00a0'.repeat(indent.length) + start(text(rest));
}
