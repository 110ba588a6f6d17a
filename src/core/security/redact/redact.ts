import { cutFormsOf, formsOf } from './forms.ts';
import { NAMED } from './named.ts';
import { isPlaceholder, matchesOf, type Found } from './shapes.ts';
import { keyBlocks, TOKENS } from './tokens.ts';

interface RedactOptions {
  /** The text still grows: what may be the beginning of a secret at its end is held back. @default false */
  readonly partial?: boolean;
  /**
   * How a secret is known. `shape`: only what is a secret wherever it stands, for text that is to be carried out, where a
   * made-up password has its place. `value`: only what was configured, for text that shows a person what will be carried
   * out: whatever looks like a secret may be a command. @default 'place': also by what stands before it
   */
  readonly knownBy?: 'value' | 'shape' | 'place';
}

/** Takes secrets out of a text. */
export type Redact = (text: string, options?: RedactOptions) => string;

/** Characters that are in no token and in no value: the newest word is shown when one of them follows. */
const BREAK = /[\s"'<>\u0250-\uFFFF]/;
/** More is not held back for a configured secret that has such characters within it. */
const LONGEST_TAIL = 8_000;
/** What a shell reads as more than a part of a word: a value ends before it, so that no command is hidden behind one. */
const SHELL_SYNTAX = /[;|&$()`<>\n]/u;

/**
 * Returns a function that takes the given secrets out of a text: as they are and as URLs, forms, JSON and base64 write
 * them, together with tokens that are known by their shape or by what stands before them. Secrets under 8 characters are
 * left alone. `[redacted]` stands for a given secret, `[redacted: github token]` for a token. What it returns it leaves
 * alone, and JSON stays JSON.
 */
export function createRedactor(secrets: readonly string[]): Redact {
  const forms = formsOf(secrets);
  const cut = cutFormsOf(secrets);
  const broken = secrets.filter((secret) => BREAK.test(secret)).map((secret) => JSON.stringify(secret).length);
  const tail = Math.min(LONGEST_TAIL, Math.max(0, ...broken));
  return (text, { partial = false, knownBy = 'place' } = {}) => {
    const found: readonly Found[] = [
      ...forms(text),
      ...(knownBy === 'value' ? [] : [...keyBlocks(text, partial), ...tokens(text)]),
      ...(knownBy === 'place' ? [...cut(text), ...named(text)] : []),
    ];
    if (!partial) return found.length === 0 ? text : without(text, merged(found), text.length);
    // An unfinished key may go on and be none.
    const open = found.flatMap(({ start, end }) => (end === text.length ? [start] : []));
    return without(text, merged(found), Math.min(newestWord(text), Math.max(0, text.length - tail), ...open));
  };
}

/** A redactor that can be told of more secrets; what it knew it keeps. */
export function createLearningRedactor(secrets: readonly string[]): {
  readonly redact: Redact;
  readonly learn: (more: readonly string[]) => void;
} {
  const known = new Set(secrets);
  let current = createRedactor(secrets);
  return {
    redact: (text, options) => current(text, options),
    learn: (more) => {
      if (more.every((secret) => known.has(secret))) return;
      for (const secret of more) known.add(secret);
      current = createRedactor([...known]);
    },
  };
}

function tokens(text: string): readonly Found[] {
  return TOKENS.flatMap((shapes) => matchesOf(text, shapes)).filter(
    ({ body }) => !isPlaceholder(body, { byName: false }),
  );
}

function named(text: string): readonly Found[] {
  return NAMED.flatMap((shapes) => matchesOf(text, shapes)).flatMap(valuesOf);
}

/** The value of a name. Cookies are a list of pairs; each is taken out by itself. */
function valuesOf({ name, end, body }: Found & { readonly body: string }): readonly Found[] {
  const found: Found[] = [];
  let start = end - body.length;
  for (const piece of name === 'cookie' ? body.split(/(?<=;)/u) : [body]) {
    const space = piece.length - piece.trimStart().length;
    const cut = piece.search(SHELL_SYNTAX);
    const value = piece.slice(space, cut === -1 ? piece.length : cut);
    if (value !== '' && !isPlaceholder(value, { byName: true })) {
      found.push({ start: start + space, end: start + space + value.length, name });
    }
    // Behind anything but the end of a pair it is no cookie any more.
    if (cut !== -1 && piece.slice(cut) !== ';') break;
    start += piece.length;
  }
  return found;
}

/** In order and without overlaps: what overlaps is one place, named after what begins first. */
function merged(found: readonly Found[]): readonly Found[] {
  const places: Found[] = [];
  for (const each of found.toSorted((a, b) => a.start - b.start)) {
    const last = places.at(-1);
    if (last === undefined || each.start >= last.end) places.push(each);
    else places[places.length - 1] = { ...last, end: Math.max(last.end, each.end) };
  }
  return places;
}

/** Where the newest word begins; the length of the text if it is over. */
function newestWord(text: string): number {
  let at = text.length;
  while (at > 0 && !BREAK.test(text.charAt(at - 1))) at -= 1;
  return at;
}

/** The text up to `end` with a mark for each place; a place that goes beyond the end is whole. */
function without(text: string, places: readonly Found[], end: number): string {
  let clean = '';
  let at = 0;
  for (const { start, end: after, name } of places) {
    if (start >= end) break;
    clean += text.slice(at, start) + (name === undefined ? '[redacted]' : `[redacted: ${name}]`);
    at = after;
  }
  return at >= end ? clean : clean + text.slice(at, end);
}
