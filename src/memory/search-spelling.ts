import type { DatabaseSync } from 'node:sqlite';
import { quoted, similarity, trigramsOf, type Term } from './search-words.ts';

/** A term as it is looked for. */
export interface Wanted {
  readonly term: Term;
  /** What it may be in a text, folded. */
  readonly words: readonly string[];
  /** For the index. */
  readonly match: string;
  /** In how many documents the commonest of the words is. */
  readonly documents: number;
}

const SHORTEST = 4;
const MOST_LOOKED_AT = 300;
const MOST_SPELLINGS = 5;
/** Three letters that more words than this have tell nothing. */
const MOST_COMMON = 3_000;
/** Less alike than this is another word. */
const LEAST_SIMILARITY = 0.4;

/** Words of the index that a word which is not in it may stand for: those it is a part of, and those it is like. */
export function bestSpellings(db: DatabaseSync, word: string): readonly string[] {
  if (word.length < SHORTEST) return [];
  const find = db.prepare(`SELECT word FROM spellings WHERE spellings MATCH ? ORDER BY rank LIMIT ${MOST_LOOKED_AT}`);
  const looked = (match: string): readonly string[] => find.all(match).map((row) => String(row['word']));
  const within = looked(quoted(word)).slice(0, MOST_SPELLINGS);
  const frequency = db.prepare('SELECT doc FROM trigrams WHERE term = ?');
  const telling = trigramsOf(word).filter((gram) => Number(frequency.get(gram)?.['doc'] ?? 0) <= MOST_COMMON);
  const alike = (telling.length === 0 ? [] : looked(telling.map(quoted).join(' OR ')))
    .map((candidate) => ({ candidate, likeness: similarity(word, candidate) }))
    .filter(({ likeness }) => likeness >= LEAST_SIMILARITY)
    .toSorted((a, b) => b.likeness - a.likeness)
    .slice(0, MOST_SPELLINGS)
    .map(({ candidate }) => candidate);
  return [...new Set([...within, ...alike])];
}
