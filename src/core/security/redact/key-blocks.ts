const LONGEST_KEY_BLOCK = 20_000;
/** Shorter lines of base64 could be words. */
const SHORTEST_KEY_LINE = 16;

const MARKER = /-----(BEGIN|END) [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----/g;
/** Lines of a key and of its header, also with what listings and mails put before lines. */
const BODY =
  /(?:\s|\\[rn]|[A-Za-z0-9+/=]{16,}|(?<=\n[ \t]*)(?:\d{1,6}[:|\t-]|[>|+-])|[A-Za-z-]{1,30}: [^\r\n"\\]{0,200}(?=[\r\n\\]))*/y;
const REST_OF_LINE = /[A-Za-z0-9+/=]*$/y;
const KEY_LINE = /[A-Za-z0-9+/=]{16,}/g;
const PIECE = /(?:(?!\\[rn])\S)+/g;

interface Range {
  readonly start: number;
  readonly end: number;
}

/**
 * Private keys in text form, also those whose beginning or end was cut off; markers without a key between them are
 * none. With `partial`, more may follow: an unfinished block extends to the end of the text.
 */
export function keyBlocks(text: string, partial: boolean): readonly Range[] {
  if (!text.includes('PRIVATE KEY')) return [];
  const markers = [...text.matchAll(MARKER)];
  const found: Range[] = [];
  let at = 0;
  for (const [i, marker] of markers.entries()) {
    if (marker.index < at) continue;
    const after = marker.index + marker[0].length;
    const ranges =
      marker[1] === 'BEGIN'
        ? begun(text, marker.index, { body: after, next: markers[i + 1], partial })
        : ended(text, marker.index, { least: at, after });
    found.push(...ranges);
    at = Math.max(after, ranges.at(-1)?.end ?? 0);
  }
  return found;
}

function begun(
  text: string,
  start: number,
  facts: { readonly body: number; readonly next: RegExpExecArray | undefined; readonly partial: boolean },
): readonly Range[] {
  const { body, next, partial } = facts;
  if (next?.[1] === 'END' && next.index - body <= LONGEST_KEY_BLOCK) {
    const inner = text.slice(body, next.index);
    const lines = [...inner.matchAll(KEY_LINE)];
    if (lines.length === 0) return [];
    // Pieces of a program or of JSON: what is between them stays.
    if (/["']/.test(inner)) return lines.map(({ 0: line, index }) => range(body + index, line));
    return [{ start, end: next.index + next[0].length }];
  }
  BODY.lastIndex = body;
  const inner = BODY.exec(text)?.[0] ?? '';
  REST_OF_LINE.lastIndex = body + inner.length;
  if (partial && REST_OF_LINE.test(text)) return [{ start, end: text.length }];
  return inner.search(KEY_LINE) === -1 ? [] : [{ start, end: body + inner.trimEnd().length }];
}

/** The lines of a key before the marker of its end. */
function ended(text: string, marker: number, { least, after }: { least: number; after: number }): readonly Range[] {
  const from = Math.max(least, marker - LONGEST_KEY_BLOCK);
  const pieces = [...text.slice(from, marker).matchAll(PIECE)].toReversed();
  let start = marker;
  for (const [n, { 0: piece, index }] of pieces.entries()) {
    const isKey = /^[A-Za-z0-9+/=]+$/.test(piece) && (n === 0 || piece.length >= SHORTEST_KEY_LINE);
    if (!isKey) break;
    start = from + index;
  }
  return text.slice(start, marker).search(KEY_LINE) === -1 ? [] : [{ start, end: after }];
}

function range(start: number, text: string): Range {
  return { start, end: start + text.length };
}
