/**
 * Characters that stand for what is not text in an expanded word or in what a command writes. They are from the private
 * use area and taken out of the command before it is parsed, so they never mean a character that somebody wrote.
 */

/** Something whose text no one can know before it runs; not empty. */
export const UNKNOWN = '\uE000';
/** `*`, unquoted. */
export const STAR = '\uE001';
/** `?` or `[…]`, unquoted. */
export const ANY = '\uE002';
/** The border between two words that come from one. */
export const SPLIT = '\uE003';
/** The text around it was decoded (base64 and the like), so its source tells nothing. */
export const DECODED = '\uE004';
/** Encloses the number of a process substitution. */
export const SUBSTITUTION = '\uE005';
/** The text around it came from a server. */
export const FETCHED = '\uE006';

const ALL = /[\uE000-\uE006]/g;
const TRACES = /[\uE004\uE006]/g;
const MANY_STARS = /\uE001+/g;
const UNDECIDED = /[\uE000-\uE002]/;

/** The text without any mark of ours in it. */
export function withoutMarks(text: string): string {
  return text.replaceAll(ALL, '\uFFFD');
}

/** The text as a program writes it. */
export function written(text: string): string {
  return text.replaceAll(STAR, '*').replaceAll(ANY, '?').replaceAll(SPLIT, ' ');
}

/** The word as it would look in code that is parsed once more. */
export function asCode(text: string): string {
  return withoutTraces(written(text));
}

/** The word without the marks that say where it came from. */
export function withoutTraces(text: string): string {
  return text.replaceAll(TRACES, '');
}

/** The marks that say where a text came from. */
export function tracesOf(text: string): string {
  return (text.includes(DECODED) ? DECODED : '') + (text.includes(FETCHED) ? FETCHED : '');
}

/** Whether nothing of a text is known. */
export function isUnknown(text: string): boolean {
  return withoutTraces(text) === UNKNOWN;
}

/** Whether the word can become different words when it runs. */
export function isUndecided(text: string): boolean {
  return UNDECIDED.test(text);
}

/** How much in the words can become something else. */
export function undecidedIn(words: readonly string[]): number {
  return words.reduce((count, word) => count + (isUndecided(word) ? word.split(UNDECIDED).length - 1 : 0), 0);
}

/** What an unquoted value becomes: split at white space, its wildcards alive. */
export function unquoted(text: string): string {
  return text.replaceAll(/\s+/g, SPLIT).replaceAll('*', STAR).replaceAll('?', ANY);
}

/** A pattern of marks as the source of a regular expression; `one`: what one wildcard covers. */
export function sourceOf(text: string, one = '[^/]', many = `${one}*`): string {
  return text
    .replaceAll(/[.*+?^${}()|[\]\\/]/g, String.raw`\$&`)
    .replaceAll(MANY_STARS, () => many)
    .replaceAll(ANY, one);
}

/** A pattern of marks as a regular expression over a whole name. */
export function patternOf(text: string): RegExp {
  return new RegExp(`^${sourceOf(text)}$`);
}
