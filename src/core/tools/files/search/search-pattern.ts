import { AppError, errorMessage } from '../../../util/errors.ts';

export interface SearchPattern {
  /** Where a line matches first; -1: it does not. */
  readonly indexIn: (line: string) => number;
  /** ASCII that every file with a match holds as it is; null: that cannot be told. */
  readonly literal: string | null;
}

const LONGEST = 2_000;

/**
 * A regular expression as models write them, for single lines. What is harmless elsewhere (`\-`, a leading `(?i)`) is
 * no error. Throws a sentence for one that is broken.
 */
export function searchPattern(text: string, options: { readonly ignoreCase: boolean }): SearchPattern {
  if (text.length > LONGEST) throw bad(`it is longer than ${LONGEST} characters`);
  const inline = /^\(\?i\)/u.exec(text)?.[0] ?? '';
  const source = text.slice(inline.length);
  const ignoreCase = options.ignoreCase || inline !== '';
  const literal = !ignoreCase && /^[\w \-:;,=<>@#%&"'!/~`]+$/u.test(source) ? source : null;
  if (literal !== null) return { indexIn: (line) => line.indexOf(literal), literal };
  const regex = compiled(source, ignoreCase ? 'i' : '');
  return { indexIn: (line) => line.search(regex), literal: null };
}

/** Read strictly first, so that \p{…} and whole characters work. */
function compiled(source: string, flags: string): RegExp {
  try {
    return new RegExp(source, `${flags}u`);
  } catch {
    try {
      return new RegExp(source, flags);
    } catch (error) {
      throw bad(errorMessage(error).replace(/^Invalid regular expression: /u, ''));
    }
  }
}

function bad(why: string): AppError {
  return new AppError('search-pattern', `The pattern is no regular expression: ${why}.`);
}
