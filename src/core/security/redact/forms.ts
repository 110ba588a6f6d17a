import { literal, type Found } from './shapes.ts';

/** Shorter secrets would take ordinary words with them. */
const SHORTEST_SECRET = 8;
/** A text with more of them was not cut so often. */
const MOST_CUTS = 50;
/** Between two letters of base64; also in JSON. */
const LINE_BREAK = String.raw`(?:\s|\\[rn])*`;

/** Finds the configured secrets: as they are, as URLs, forms and JSON (also in JSON) write them, and in base64 at any offset. */
export function formsOf(secrets: readonly string[]): (text: string) => readonly Found[] {
  const whole = secrets.flatMap((secret) => [secret, ...schemeless(secret)]);
  const long = [...new Set(whole)].filter((secret) => secret.length >= SHORTEST_SECRET);
  if (long.length === 0) return () => [];
  // The longest first: a secret may begin with a shorter one.
  long.sort((a, b) => b.length - a.length);
  const forms = new RegExp(long.flatMap((secret) => [writtenForm(secret), ...base64Forms(secret)]).join('|'), 'g');
  return (text) => {
    const found: Found[] = [];
    forms.lastIndex = 0;
    for (let match = forms.exec(text); match !== null; match = forms.exec(text)) {
      found.push({ start: match.index, end: forms.lastIndex, name: undefined });
      // Another may begin within it.
      forms.lastIndex = match.index + 1;
    }
    return found;
  };
}

/** Of `Bearer …` and `Basic …` the part after the scheme counts as well. */
function schemeless(secret: string): readonly string[] {
  const value = /^(?:bearer|basic|token|bot)\s+(\S+)$/i.exec(secret)?.[1];
  return value === undefined ? [] : [value];
}

/** A pattern with the spellings of each character. */
function writtenForm(secret: string): string {
  return Array.from(secret.toWellFormed(), (character) => {
    if (/[A-Za-z0-9_-]/.test(character)) return character;
    const inUrl = Array.from(Buffer.from(character), (byte) => `%${hex(byte, 2)}`).join('');
    const units = Array.from({ length: character.length }, (_, i) => hex(character.charCodeAt(i), 4));
    const inJson = units.map((unit) => String.raw`\\{1,2}u${unit}`).join('');
    // JSON inside JSON has up to three backslashes before a quote, and four for one.
    const named = JSON.stringify(character).slice(1, -1);
    const short = named.length === 2 && /[a-z]/.test(named) ? [String.raw`\\{1,2}${named.slice(1)}`] : [];
    const plain = character === '\\' ? String.raw`\\{1,4}` : `${String.raw`\\{0,3}`}${literal(character)}`;
    return `(?:${[plain, inUrl, inJson, ...short, ...(character === ' ' ? [String.raw`\+`] : [])].join('|')})`;
  }).join('');
}

/** Of each offset modulo 3 the characters that don't depend on what stands before and after the secret. */
function base64Forms(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8');
  return [0, 1, 2].map((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), bytes]).toString('base64');
    const core = encoded.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + bytes.length) * 8) / 6));
    // In letters and pipes it is broken into lines.
    return Array.from(core, (letter) => ({ '+': '[+-]', '/': '[/_]' })[letter] ?? letter).join(LINE_BREAK);
  });
}

/** The letters among them in either case. */
function hex(code: number, digits: number): string {
  const written = code.toString(16).padStart(digits, '0');
  return written.replaceAll(/[a-f]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);
}

/** Finds what a cut has left of a configured secret: its beginning, right before `…`. */
export function cutFormsOf(secrets: readonly string[]): (text: string) => readonly Found[] {
  const long = secrets.filter(({ length }) => length > SHORTEST_SECRET);
  return (text) => {
    const cuts = Array.from(text.matchAll(/…/gu), ({ index }) => index).slice(0, MOST_CUTS);
    return cuts.flatMap((end) =>
      long.flatMap((secret) => {
        // Where its first letters stand nearest before the cut.
        const start = text.lastIndexOf(secret.slice(0, SHORTEST_SECRET), end - SHORTEST_SECRET);
        const isBeginning = start !== -1 && end - start < secret.length && secret.startsWith(text.slice(start, end));
        return isBeginning ? [{ start, end, name: undefined }] : [];
      }),
    );
  };
}
