import type { Finder, Found, KnownBy } from './find.ts';
import { isPlaceholder } from './placeholders.ts';
import { unwrapText } from './unwrapped.ts';

/** Of a secret that is half there, so many characters may be seen, but never more than half of it. */
const MOST_SHOWN = 7;
/** Characters before the newest word in which the name of a value may stand. */
const LONGEST_HEAD = 400;

/** What no token has within it: the newest word is shown when it is over. */
const BREAK = /[^!-~]|["'<>`]/;
/** What no value has within it. */
const VALUE_BREAK = /[\s"'<>`]/;
/** A cookie extends to the end of its line. */
const LINE_BREAK = /[\r\n"']/;
/** Half a line break, which may be one within base64. */
const HALF_BREAK = /(?:\r|\\r?\\?)$/;
/** A name and a password may still come behind it. */
const USER_INFO = /:\/\/[^\s/@"'<>\\[\]]*$/;

/** Where in a growing text something begins that may become a secret or part of one; its length when nothing does. */
export function heldFrom(text: string, found: readonly Found[], finder: Finder): number {
  // A token that reaches the end may go on and be none.
  const open = found.flatMap(({ start, end }) => (end === text.length ? [start] : []));
  return Math.min(text.length, ...open, growingShape(text, finder), growingForm(text, finder));
}

/** What stands in the place of what a cut has left out. */
const CUT = /(?:\n\n\[)?…/g;
/** Fewer characters behind the beginning of a token are given away, as documents do it. */
const FEWEST_CUT = 8;
/** Shorter beginnings are those of many words. */
const SHORTEST_CUT_HEAD = 4;
/** A text with more of them was not cut so often. */
const MOST_CUTS = 200;

/** Secrets of which a cut has left only the beginning: `ghp_0123456789…`. */
export function cutSecrets(text: string, finder: Finder, knownBy: KnownBy): readonly Found[] {
  const found: Found[] = [];
  let cuts = 0;
  for (const { index: end } of text.matchAll(CUT)) {
    cuts += 1;
    if (cuts > MOST_CUTS) break;
    const kept = text.slice(0, end);
    const token = knownBy === 'value' ? undefined : cutToken(kept, finder);
    if (token !== undefined) found.push(token);
    const start = growingForm(kept, finder);
    if (start < end) found.push({ start, end, name: undefined });
  }
  return found;
}

function cutToken(text: string, { candidates }: Finder): Found | undefined {
  const word = afterLast(text, BREAK, text.length);
  let found: Found | undefined;
  candidates.visit(text, word, (at, entries) => {
    if (found !== undefined) return;
    let head = 0;
    let name = '';
    for (const entry of entries) {
      if (typeof entry === 'string' || entry.keepsHead) continue;
      entry.head.lastIndex = at;
      const { length } = entry.head.exec(text)?.[0] ?? '';
      if (length <= head) continue;
      head = length;
      name = entry.name;
    }
    const body = text.slice(at + head);
    if (head >= SHORTEST_CUT_HEAD && looksDrawn(body)) found = { start: at, end: text.length, name };
  });
  return found;
}

/** Not a word that happens to stand behind `key-`. */
function looksDrawn(body: string): boolean {
  if (body.length < FEWEST_CUT || !/\d/.test(body) || isPlaceholder(body)) return false;
  return /^[0-9a-f-]+$/.test(body) || (/^[\w-]+$/.test(body) && /[A-Z]/.test(body) && /[a-z]/.test(body));
}

function growingShape(text: string, { candidates }: Finder): number {
  const word = afterLast(text, BREAK, text.length);
  const value = afterLast(text, VALUE_BREAK, word);
  const line = afterLast(text, LINE_BREAK, value);
  let held = word;
  const address = USER_INFO.exec(text.slice(value));
  if (address !== null) held = Math.min(held, value + address.index + '://'.length);
  candidates.visit(text, Math.max(0, line - LONGEST_HEAD), (at, entries) => {
    for (const entry of entries) {
      if (typeof entry === 'string' || !entry.keepsHead || entry.starts.includes('://')) continue;
      entry.head.lastIndex = at;
      const match = entry.head.exec(text);
      if (match === null) continue;
      const end = at + match[0].length;
      if (end >= (entry.name === 'cookie' ? line : value)) held = Math.min(held, end);
    }
  });
  return held;
}

/** The beginning of a configured secret at the end of the text. */
function growingForm(text: string, finder: Finder): number {
  const { candidates, coded, longest } = finder;
  const from = Math.max(0, text.length - longest);
  let held = text.length;
  candidates.visit(text, from, (at, entries) => {
    if (at >= held) return;
    for (const entry of entries) if (typeof entry === 'string' && begins(text, at, entry)) held = at;
  });
  // Line breaks and indents come on top of the characters of a form.
  const window = Math.max(0, text.length - 2 * longest);
  const tail = text.slice(window).replace(HALF_BREAK, '');
  const lines = unwrapText(tail) ?? { text: tail, origin: (at) => at };
  coded.visit(lines.text, 0, (at, forms) => {
    const place = window + lines.origin(at);
    if (place < held && forms.some((form) => begins(lines.text, at, form))) held = place;
  });
  return held;
}

/** Whether the rest of the text from here is the beginning of a form, and more of it than may be seen. */
function begins(text: string, at: number, form: string): boolean {
  const shown = text.length - at;
  if (shown >= form.length || shown <= Math.min(MOST_SHOWN, form.length / 2)) return false;
  return form.startsWith(text.slice(at));
}

function afterLast(text: string, breaks: RegExp, end: number): number {
  let at = end;
  while (at > 0 && !breaks.test(text.charAt(at - 1))) at -= 1;
  return at;
}
