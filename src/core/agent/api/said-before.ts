import { createHash } from 'node:crypto';
import type { TaintBits } from '../../security/access/taint.ts';
import { RecentMap } from '../../util/recent-map.ts';

/** Texts of programs' conversations that are remembered; older ones count as unknown. */
const MOST_TEXTS = 20_000;

/**
 * The marks of what was said in conversations that programs keep themselves, by its text: new messages and answers to them.
 * A program brings them back with each request, and what is not known counts as untrusted. A restart forgets them.
 */
export class SaidBefore {
  readonly #marks = new RecentMap<string, TaintBits>(MOST_TEXTS);

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
