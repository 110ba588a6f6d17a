import { AppError } from '../../../util/errors.ts';
import { cut } from '../../../util/text.ts';

/** Longest pattern; what it is turned into grows with it. */
const LONGEST = 1_000;

/**
 * Matches paths with `/` against a pattern: `*` and `?` within a name, `**` over any folders, `[a-z]`, `[!a]`, `{a,b}`,
 * `\` before what is meant as it is. Without a slash it matches names in any folder; names that begin
 * with a dot are like any other. Paths are below `base`, and a pattern with a slash in front may name `base` or begin there.
 * Throws a sentence for one that is not closed.
 */
export function globMatcher(pattern: string, base = '/'): (path: string) => boolean {
  const source = pattern.replace(/^(?:\.?\/)+/u, '');
  if (source === '' || source.length > LONGEST) throw bad(pattern, `it must have 1 to ${LONGEST} characters`);
  const whole = pattern.includes('/') ? source : `**/${source}`;
  let regex: RegExp;
  try {
    regex = new RegExp(`^${new Translation(whole, pattern).all()}$`, 'su');
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw bad(pattern, 'it has a range in [ ] that makes no sense');
  }
  if (!pattern.startsWith('/') || base === '/') return (path) => regex.test(path);
  const lead = `${base.slice(1)}/`;
  return (path) => regex.test(path) || regex.test(lead + path);
}

function bad(pattern: string, why: string): AppError {
  return new AppError('glob-pattern', `The pattern ${JSON.stringify(cut(pattern, 80))} cannot be used: ${why}.`);
}

class Translation {
  readonly #text: string;
  readonly #shown: string;
  #at = 0;
  #braces = 0;

  constructor(text: string, shown: string) {
    this.#text = text;
    this.#shown = shown;
  }

  all(): string {
    let out = '';
    while (this.#at < this.#text.length) out += this.#next();
    if (this.#braces > 0) throw bad(this.#shown, 'a { is not closed');
    return out;
  }

  #next(): string {
    const text = this.#text;
    const at = this.#at;
    const sign = text[at] ?? '';
    this.#at += 1;
    switch (sign) {
      case '*':
        return this.#stars(at);
      case '?':
        return '[^/]';
      case '[':
        return this.#set();
      case '{':
        this.#braces += 1;
        return '(?:';
      case '}':
        if (this.#braces === 0) return String.raw`\}`;
        this.#braces -= 1;
        return ')';
      case ',':
        return this.#braces > 0 ? '|' : ',';
      case '\\': {
        const meant = codePoint(text, this.#at);
        if (meant === '') throw bad(this.#shown, String.raw`it ends with \ `.trim());
        this.#at += meant.length;
        return literal(meant);
      }
      default: {
        const whole = codePoint(text, at);
        this.#at = at + whole.length;
        return literal(whole);
      }
    }
  }

  /** Two stars that are a whole part of the path stand for any number of folders, none included. */
  #stars(at: number): string {
    const text = this.#text;
    while (text[this.#at] === '*') this.#at += 1;
    const opens = at === 0 || '/{,'.includes(text[at - 1] ?? '/');
    const closes = this.#at === text.length || '/},'.includes(text[this.#at] ?? '/');
    if (this.#at - at < 2 || !opens || !closes) return '[^/]*';
    if (text[this.#at] !== '/') return '.*';
    this.#at += 1;
    return '(?:[^/]+/)*';
  }

  #set(): string {
    const text = this.#text;
    const from = this.#at;
    const isNot = text[from] === '!' || text[from] === '^';
    // A ] that comes first is meant as it is.
    const end = text.indexOf(']', from + (isNot ? 2 : 1));
    if (end === -1) throw bad(this.#shown, 'a [ is not closed');
    this.#at = end + 1;
    const inside = text.slice(from + (isNot ? 1 : 0), end).replaceAll(/[\\\]^]/gu, String.raw`\$&`);
    return isNot ? `(?!/)[^${inside}]` : `(?!/)[${inside}]`;
  }
}

function codePoint(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? '' : String.fromCodePoint(code);
}

function literal(character: string): string {
  return /[$()*+./?[\\\]^{|}]/u.test(character) ? `\\${character}` : character;
}
