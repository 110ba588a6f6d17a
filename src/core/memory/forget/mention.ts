import { AppError } from '../../util/errors.ts';
import { oneLine } from '../../util/text.ts';

const LETTERS = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts without spaces, of which few characters say much. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;
const FEWEST_LETTERS = 3;
const FEWEST_DENSE = 2;
const MOST_WORDS = 20;
const MOST_SHOWN = 50;
const LONGEST_SHOWN = 160;

/** What stands in the place of a line that is forgotten. */
export const FORGOTTEN = '[forgotten]';

/** What a person wants forgotten: each line that has all of their words, without regard to case and punctuation. */
export class Mention {
  readonly #words: readonly string[];
  readonly #taken = new Set<string>();

  /** Throws `forget-words`, one sentence, for words that could be anywhere. */
  constructor(text: string) {
    this.#words = [...new Set(plain(text).match(LETTERS))];
    const longest = Math.max(0, ...this.#words.map((word) => Array.from(word).length));
    const fewest = this.#words.some((word) => DENSE.test(word)) ? FEWEST_DENSE : FEWEST_LETTERS;
    if (longest >= fewest && this.#words.length <= MOST_WORDS) return;
    throw new AppError(
      'forget-words',
      `Name what is to be forgotten by 1 to ${MOST_WORDS} words, one of them with at least ${FEWEST_LETTERS} letters or digits.`,
    );
  }

  /** Whether one line has all of the words. */
  isIn(line: string): boolean {
    const text = plain(line);
    return this.#words.every((word) => text.includes(word));
  }

  /** Whether a line of a text has them, which is remembered as found, unless it is the very command that asks for this. */
  takes(text: string): boolean {
    const found = text.split('\n').filter((line) => this.isIn(line));
    for (const line of found.filter((one) => askingIn(one) === undefined))
      if (this.#taken.size < MOST_SHOWN) this.#taken.add(oneLine(line, LONGEST_SHOWN));
    return found.length > 0;
  }

  /** Different lines that were found since the last call, in one line each; at most 50. */
  taken(): readonly string[] {
    const lines = [...this.#taken];
    this.#taken.clear();
    return lines;
  }
}

/** The beginning of a line that is the command which asks to forget something. */
export function askingIn(line: string): string | undefined {
  return /^\s*\/memory(?:@\S+)? forget /iu.exec(line)?.[0];
}

function plain(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
