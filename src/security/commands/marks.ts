/**
 * Characters that stand for what is not text in an expanded word. They are from the private use area and taken out
 * of the command before it is parsed, so they never mean a character that somebody wrote.
 */

/** Something whose text nobody can know before it runs; not empty. */
export const UNKNOWN = '\uE000';
/** `*`, unquoted. */
export const STAR = '\uE001';
/** `?` or `[…]`, unquoted. */
export const ANY = '\uE002';
/** The border between two words that come from one. */
export const SPLIT = '\uE003';
/** What follows was decoded (base64 and the like). */
export const DECODED = '\uE004';
/** Encloses the number of a process substitution. */
export const SUBSTITUTION = '\uE005';

/** What follows came from a server. */
export const FETCHED = '\uE006';

const ALL = /[\uE000-\uE006]/g;
const MANY_STARS = /\uE001+/g;
const UNDECIDED = /[\uE000-\uE002]/;

/** The text without any mark of ours in it. */
export function withoutMarks(text: string): string {
  return text.replaceAll(ALL, '\uFFFD');
}

/** The word as it would look in code that is parsed once more. */
export function asCode(text: string): string {
  return withoutTraces(text.replaceAll(STAR, '*').replaceAll(ANY, '?').replaceAll(SPLIT, ' '));
}

/** The word without the marks that say where it came from. */
export function withoutTraces(text: string): string {
  return text.replaceAll(DECODED, '').replaceAll(FETCHED, '');
}

/** Whether the word can become different words when it runs. */
export function isUndecided(text: string): boolean {
  return UNDECIDED.test(text);
}

/** What an unquoted value becomes: split at white space, its wildcards alive. */
export function unquoted(text: string): string {
  return text.replaceAll(/\s+/g, SPLIT).replaceAll('*', STAR).replaceAll('?', ANY);
}

/** A pattern of marks as a regular expression over a whole name; `wide`: wildcards cover slashes too. */
export function patternOf(text: string, wide = false): RegExp {
  const one = wide ? String.raw`[\s\S]` : '[^/]';
  const source = text
    .replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)
    .replaceAll(MANY_STARS, `${one}*`)
    .replaceAll(ANY, one);
  return new RegExp(`^${source}$`);
}
