/** A secret in a text. */
export interface Found {
  readonly start: number;
  readonly end: number;
  /** What it is; undefined for one that was configured. */
  readonly name: string | undefined;
}

/** A kind of secret: patterns without groups that capture. */
export type ShapeRow = readonly [
  /** Stands in the text for what was taken out: `[redacted: github token]`. */
  name: string,
  /** What stands before the secret part. */
  head: string,
  /**
   * What is secret. Matches no quote, backslash or white space, so that JSON stays whole. Fails within a fixed number of
   * steps, or where no other match can begin, so that a search is linear.
   */
  body: string,
];

/**
 * Kinds of secrets that are searched for together. Searching for all the heads would be slow: each letter begins some.
 * What ends one, such as `_` or `=`, is rare, so `hint` matches that and looks behind it.
 */
export interface Shapes {
  readonly names: readonly string[];
  /** Where a head may be: it ends with the match and is its group 1, or begins with the match. */
  readonly hint: RegExp;
  /** Matches at the beginning of a head; the group that took part is the row. */
  readonly rows: RegExp;
}

/** From the beginning of the head to the end of the body. */
interface ShapeMatch extends Found {
  readonly body: string;
}

/**
 * Where a word may begin: also after an escape such as `\n` or `%20` and after a colour code, which end in letters, but
 * not within an escape.
 */
export const WORD_START = String.raw`(?:(?<![A-Za-z0-9])(?!(?<=\\)[nrtbfu])|(?<=\\[nrtbfv0])|(?<=%[0-9A-Fa-f]{2})|(?<=\\(?:u[0-9A-Fa-f]{2}|x)[0-9A-Fa-f]{2})|(?<=\[[0-9;]{0,10}m))`;

/** Of several rows that match at a place the first counts. `before` is a look behind each head. */
export function shapesOf(
  rows: readonly ShapeRow[],
  {
    hint,
    before = '',
    anyCase = false,
  }: { readonly hint: string; readonly before?: string; readonly anyCase?: boolean },
): Shapes {
  const flag = anyCase ? 'i' : '';
  return {
    names: rows.map(([name]) => name),
    hint: new RegExp(hint, `g${flag}`),
    rows: new RegExp(`${before}(?:${rows.map(([, head, body]) => `${head}(${body})`).join('|')})`, `y${flag}`),
  };
}

export function matchesOf(text: string, { names, hint, rows }: Shapes): readonly ShapeMatch[] {
  const found: ShapeMatch[] = [];
  hint.lastIndex = 0;
  for (let at = hint.exec(text); at !== null; at = hint.exec(text)) {
    const start = at[1] === undefined ? at.index : hint.lastIndex - at[1].length;
    rows.lastIndex = start;
    const match = rows.exec(text);
    if (match === null) continue;
    const row = match.findIndex((group, i) => i > 0 && group !== undefined);
    const { [row]: body = '' } = match;
    found.push({ name: names[row - 1], start, end: rows.lastIndex, body });
    hint.lastIndex = rows.lastIndex;
  }
  return found;
}

/** The pattern of this very text. */
export function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
}

/** How documentation begins a text that stands for a secret. */
const BEGINS =
  /^(?:your|my|insert|replace|enter|put|change|example|sample|dummy|fake|placeholder|redacted|some)[^A-Za-z0-9]/i;
/** The documentation of AWS has this in all of its example keys. */
const EXAMPLE = /EXAMPLE/;
const WHOLE =
  /^(?:change-?me|example|placeholder|secret|token|password|passwd|pass|pwd|pw|user|username|key|null|none|undefined|true|false|test)$/i;
/** Something that is filled in later: `$TOKEN`, `${…}`, `{{…}}`, `%s`, `<…>`. */
const TEMPLATE = /^[$<{%(*]/;
const SAME = /([A-Za-z0-9.*])\1{7}/i;
/** Longer values may hold eight equal characters by chance. */
const LONGEST_SAME = 60;
const FEWEST_DIFFERENT = 5;

/**
 * Whether a text that has the shape of a token is a placeholder: `xxxx…`, `your-token-here`. `byName`: it is taken for a
 * secret only because of its name, such as `password=`.
 */
export function isPlaceholder(body: string, { byName }: { readonly byName: boolean }): boolean {
  if (BEGINS.test(body) || EXAMPLE.test(body) || (body.length < LONGEST_SAME && SAME.test(body))) return true;
  if (byName) return WHOLE.test(body) || TEMPLATE.test(body);
  return new Set(body.slice(0, 64).toLowerCase()).size < FEWEST_DIFFERENT;
}
