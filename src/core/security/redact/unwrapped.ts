/** A text without the line breaks within what may be base64 or hex. */
interface Unwrapped {
  readonly text: string;
  /** Where a place of it is in the wrapped text. */
  readonly origin: (at: number) => number;
}

/** Before a line break stand at least so many characters of base64: shorter lines are words. */
const SHORTEST_LINE = 20;
const LONGEST_INDENT = 16;
const ESCAPED = /(?:\\r)?\\n[ \t]{0,16}/g;

interface Break {
  readonly at: number;
  readonly end: number;
}

/** Undefined when there is no such break. Breaks are `\n`, `\r\n`, and both as JSON writes them. */
export function unwrapText(text: string): Unwrapped | undefined {
  const pieces: string[] = [];
  /** Where each piece begins in the new text and in the old one. */
  const starts: { readonly to: number; readonly from: number }[] = [];
  let from = 0;
  let length = 0;
  const take = (end: number): void => {
    starts.push({ to: length, from });
    pieces.push(text.slice(from, end));
    length += end - from;
  };
  for (const { at, end } of breaksIn(text)) {
    take(at);
    from = end;
  }
  if (pieces.length === 0) return undefined;
  take(text.length);
  return {
    text: pieces.join(''),
    origin: (at) => {
      const piece = starts[lastAtOrBefore(starts, at)] ?? { to: 0, from: 0 };
      return piece.from + at - piece.to;
    },
  };
}

/** Breaks behind lines of base64, in order. */
function breaksIn(text: string): readonly Break[] {
  const breaks: Break[] = [];
  for (let found = text.indexOf('\n'); found !== -1; found = text.indexOf('\n', found + 1)) {
    const at = text.charCodeAt(found - 1) === 0x0d ? found - 1 : found;
    if (!endsLine(text, at)) continue;
    let end = found + 1;
    while (end - found <= LONGEST_INDENT && (text[end] === ' ' || text[end] === '\t')) end += 1;
    breaks.push({ at, end });
  }
  if (!text.includes(String.raw`\n`)) return breaks;
  for (const { 0: found, index: at } of text.matchAll(ESCAPED)) {
    if (endsLine(text, at)) breaks.push({ at, end: at + found.length });
  }
  return breaks.sort((a, b) => a.at - b.at);
}

/** Whether nothing but base64 stands right before `at`. */
function endsLine(text: string, at: number): boolean {
  if (at < SHORTEST_LINE) return false;
  for (let i = at - 1; i >= at - SHORTEST_LINE; i -= 1) if (!isBase64(text.charCodeAt(i))) return false;
  return true;
}

function isBase64(code: number): boolean {
  const isDigit = code >= 0x30 && code <= 0x39;
  const isLetter = (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;
  return isDigit || isLetter || code === 0x2b || code === 0x2f || code === 0x2d || code === 0x5f;
}

function lastAtOrBefore(starts: readonly { readonly to: number }[], at: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle]?.to ?? Infinity) <= at) low = middle;
    else high = middle - 1;
  }
  return low;
}
