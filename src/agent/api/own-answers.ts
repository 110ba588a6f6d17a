import { createHash } from 'node:crypto';
import type { TaintBits } from '../../security/access/taint.ts';
import { RecentMap } from '../../util/recent-map.ts';

/** Answers of programs' conversations that are remembered; older ones count as unknown. */
const MOST_ANSWERS = 20_000;

/**
 * The marks of answers that went out to programs, by their text. A program that keeps the conversation itself brings them
 * back, and they count as untrusted unless they are known. A restart forgets them.
 */
export class OwnAnswers {
  readonly #marks = new RecentMap<string, TaintBits>(MOST_ANSWERS);

  remember(text: string, { untrusted, private: isPrivate }: Pick<TaintBits, 'untrusted' | 'private'>): void {
    const key = keyOf(text);
    const known = this.#marks.get(key);
    // The same words may have been said with and without untrusted text before them.
    this.#marks.set(key, {
      untrusted: untrusted || known?.untrusted === true,
      private: isPrivate || known?.private === true,
    });
  }

  marksOf(text: string): TaintBits {
    if (text.trim() === '') return { untrusted: false, private: false };
    return this.#marks.get(keyOf(text)) ?? { untrusted: true, private: false };
  }
}

/** Programs trim and wrap what they show. */
function keyOf(text: string): string {
  return createHash('sha256').update(text.replace(/\s+/gu, ' ').trim()).digest('base64');
}
