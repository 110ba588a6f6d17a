/** A kind of secret that is known by how it looks or by what stands before it. */
export interface Shape {
  /** Stands in the text for what was taken out: `[redacted: github token]`. */
  readonly name: string;
  /** What it begins with, at least three characters each; upper and lower case count as the same for a search. */
  readonly starts: readonly string[];
  /** Matches from the beginning of a start on, the secret part in its group `body`. Sticky. */
  readonly whole: RegExp;
  /** Matches what stands before the body, which gives nothing away. Sticky. */
  readonly head: RegExp;
  /** The body alone is taken out, the head stays in the text. */
  readonly keepsHead: boolean;
  /** The body is `name=value; name=value`; each pair is taken out, what stands between them stays. */
  readonly pairs: boolean;
}

/** How a shape is written down. `name` and `starts` as above; patterns as text. */
export interface ShapeRow {
  readonly name: string;
  readonly starts: readonly string[];
  /** What stands before the body. @default one of `starts` at the beginning of a word, as it is written */
  readonly head?: string;
  /**
   * What is secret. It matches no quote, backslash or white space, so that JSON stays whole, and fails within a fixed
   * number of steps or where no other match can begin, so that a search is linear.
   */
  readonly body: string;
  /** @default false */
  readonly pairs?: boolean;
}

/**
 * Where a word may begin: also after an escape such as `\n` or `%20` and after a colour code, which end in letters, but
 * not within an escape.
 */
export const WORD_START = String.raw`(?:(?<![A-Za-z0-9])(?!(?<=\\)[nrtbfu])|(?<=\\[nrtbfv0])|(?<=%[0-9A-Fa-f]{2})|(?<=\\(?:u[0-9A-Fa-f]{2}|x)[0-9A-Fa-f]{2})|(?<=\[[0-9;]{0,10}m))`;

/** A token: all of it is taken out. */
export function tokenShape({ name, starts, head, body }: ShapeRow): Shape {
  const begin = head ?? `${WORD_START}(?:${starts.map(literal).join('|')})`;
  return {
    name,
    starts,
    whole: sticky(`${begin}(?<body>${body})`),
    head: sticky(begin),
    keepsHead: false,
    pairs: false,
  };
}

/** A value that is known by its name: what stands before it stays. */
export function contextShape({ name, starts, head = '', body, pairs = false }: ShapeRow): Shape {
  return { name, starts, whole: sticky(`${head}(?<body>${body})`), head: sticky(head), keepsHead: true, pairs };
}

/**
 * The pattern with each letter in upper and lower case. What has case already, escapes and classes, stays. Instead of
 * `(?i:…)`: in a process that had done much else, V8 was seen to find nothing with it in strings of two bytes a character.
 */
export function anyCase(pattern: string): string {
  const both = pattern.replaceAll(/\\.|\[(?:\\.|[^\]\\])*\]|[A-Za-z]/g, (piece) =>
    piece.length === 1 ? `[${piece.toLowerCase()}${piece.toUpperCase()}]` : piece,
  );
  return `(?:${both})`;
}

/** The pattern of this very text. */
function literal(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
}

function sticky(pattern: string): RegExp {
  return new RegExp(pattern, 'y');
}
