import { factKey } from '../files/facts.ts';

/** Share of the shorter fact, and of the longer one, that the same beginning and end of two near facts make up. */
const SHARE_OF_SHORTER = 0.6;
const SHARE_OF_LONGER = 0.25;
/** Share of the shorter fact's words that a fact has which took its place. */
const SHARE_OF_REPLACED = 0.5;
const MOST_NEAR = 5;

/** Scripts that are written without spaces. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;
const words = new Intl.Segmenter(undefined, { granularity: 'word' });

/**
 * The facts that may say another value of the same thing, at most 5: they begin with the same words as `fact`, and differ in one
 * place, or have the same name in front of a colon. Goes by words alone, in any language, so that it may be wrong either way.
 */
export function nearFacts(fact: string, others: readonly string[]): readonly string[] {
  return others.filter((other) => factKey(other) !== factKey(fact) && isNear(fact, other)).slice(0, MOST_NEAR);
}

/** The one of `others` that says most of the same as `fact`; undefined when none has half of its words. */
export function nearestFact(fact: string, others: readonly string[]): string | undefined {
  let [best, most]: [string | undefined, number] = [undefined, SHARE_OF_REPLACED];
  for (const other of others) {
    const share = isNear(fact, other) ? 1 + sharedWords(fact, other) : sharedWords(fact, other);
    if (share >= most) [best, most] = [other, share];
  }
  return best;
}

/** The words of a text in small letters. */
export function wordsIn(text: string): readonly string[] {
  const plain = text.normalize('NFKC').toLowerCase();
  if (!UNSPACED.test(plain)) return plain.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
  return [...words.segment(plain)].filter(({ isWordLike }) => isWordLike === true).map(({ segment }) => segment);
}

function isNear(a: string, b: string): boolean {
  const [one, two] = [wordsIn(a), wordsIn(b)];
  const [nameOfOne, nameOfTwo] = [nameOf(a), nameOf(b)];
  if (nameOfOne !== '' && nameOfOne === nameOfTwo) return true;
  const shorter = Math.min(one.length, two.length);
  const longer = Math.max(one.length, two.length);
  const beginning = countSame(one, two, shorter);
  if (beginning === 0) return false;
  const end = countSame(one.toReversed(), two.toReversed(), shorter - beginning);
  const same = beginning + end;
  return same >= SHARE_OF_SHORTER * shorter && same >= SHARE_OF_LONGER * longer;
}

/** What stands in front of a colon; empty when nothing does. */
function nameOf(fact: string): string {
  const at = fact.search(/[:：]\s*\S/u);
  return at === -1 ? '' : wordsIn(fact.slice(0, at)).join(' ');
}

function countSame(a: readonly string[], b: readonly string[], most: number): number {
  let count = 0;
  while (count < most && a[count] === b[count]) count += 1;
  return count;
}

function sharedWords(a: string, b: string): number {
  const [one, two] = [new Set(wordsIn(a)), new Set(wordsIn(b))];
  const shorter = Math.min(one.size, two.size);
  return shorter === 0 ? 0 : [...one].filter((word) => two.has(word)).length / shorter;
}
