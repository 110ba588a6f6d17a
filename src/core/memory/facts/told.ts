import { saidIn } from '../consolidation/conversation-text.ts';
import type { TurnSpan } from '../consolidation/session-span.ts';
import { factDifference } from './difference.ts';
import { wordsIn } from './near.ts';
import type { Told } from './source.ts';

/**
 * The turn in which each fact that an update brings was told: the one whose messages and answers have most of its words, of equal ones the
 * last. Empty without turns.
 */
export function toldIn(turns: readonly TurnSpan[], base: string, update: string): Told[] {
  const { added } = factDifference(base, update);
  if (added.length === 0) return [];
  const said = turns.map((turn) => ({ turn, words: new Set(wordsIn(saidIn(turn))) }));
  return added.flatMap((fact) => {
    const wanted = [...new Set(wordsIn(fact))];
    let [best, most] = [said.at(-1)?.turn, 0];
    for (const { turn, words } of said) {
      const shared = wanted.filter((word) => words.has(word)).length;
      if (shared > 0 && shared >= most) [best, most] = [turn, shared];
    }
    return best === undefined ? [] : [{ fact, turn: best.id, at: best.at }];
  });
}
