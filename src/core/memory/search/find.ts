import type { DatabaseSync } from 'node:sqlite';
import { fused } from '../meaning/fuse.ts';
import type { Near } from '../meaning/vectors.ts';
import { COLUMNS, hitOf, rowOf, type Row } from './hit.ts';
import { scopeWord } from './index-writer.ts';
import type { MemoryHit, SearchQuery } from './retriever.ts';
import { scopeCondition } from './scope.ts';
import { tellingTerms } from './stop-words.ts';
import { timeCondition } from './time-condition.ts';
import { quoted, similarity, singlesOf, termsOf, trigramsOf, wordsOf, type Term } from './words.ts';

/** A search term with the expression that finds it in the index. */
interface TermQuery {
  readonly term: Term;
  /** Folded words that count as this term in a text: the term itself, or corrections of its spelling. */
  readonly words: readonly string[];
  /** FTS5 expression. */
  readonly match: string;
  /** Number of documents that hold the most frequent of `words`; 0 for phrases and single characters, which are not counted. */
  readonly documents: number;
  /** At most so many documents hold it: the rarer, the more it counts. */
  readonly rarity: number;
}

/** Shorter words are not corrected, in characters. */
const SHORTEST = 4;
/** Most words of the index that are compared with a misspelled one. */
const MOST_LOOKED_AT = 300;
/** Most corrections of each of the two kinds (see `bestSpellings`). */
const MOST_SPELLINGS = 5;
/** A trigram that occurs in more words than this is not used to find similar words. */
const MOST_COMMON = 3_000;

/** A word counts as a correction from this similarity on, from 0 to 1. */
const LEAST_SIMILARITY = 0.4;

/** Most of the words' hits that are joined with those by meaning. */
const MOST_FUSED = 50;
/** Most documents that one step takes from the index and scores. */
const MOST_CANDIDATES = 200;
/** If a step may find more documents than this, the newest are taken, because ranking all of them takes too long. */
const MOST_RANKED = 4_000;
/** Constants of BM25, for documents of about forty words. */
const K1 = 1.2;
const B = 0.4;
const USUAL_LENGTH = 40;
/** How much a word counts that only begins like the one that is looked for. */
const ONLY_BEGUN = 0.6;
/** Most pairs of one run of single characters. */
const MOST_PAIRS = 12;
/** The part of a score that depends on age halves in this time; the other half of the score does not depend on it. */
const HALF_LIFE_MS = 90 * 86_400_000;
/**
 * Search steps from strict to tolerant: all words, all as prefixes, any as a prefix, any with corrected spelling. `pairs`: of
 * a run of single characters each two in a row count by themselves too.
 */
const STEPS = [
  { join: ' AND ', prefix: false, spelling: false, pairs: false, weight: 1 },
  { join: ' AND ', prefix: true, spelling: false, pairs: false, weight: 0.8 },
  { join: ' OR ', prefix: true, spelling: false, pairs: true, weight: 0.5 },
  { join: ' OR ', prefix: false, spelling: true, pairs: true, weight: 0.4 },
] as const;

/** A document that the words of a query found. */
interface Ranked {
  readonly row: Row;
  readonly score: number;
  readonly wanted: readonly TermQuery[];
}

/**
 * Finds documents for a query, best first. With `meaning`, which is best first too, both are joined; what words alone would
 * have found is always there.
 */
export function findDocuments(db: DatabaseSync, query: SearchQuery, meaning?: readonly Near[]): readonly MemoryHit[] {
  if (query.limit < 1 || query.scope.length === 0) return [];
  const terms = tellingTerms(termsOf(query.text));
  if (terms.length === 0) return listDocuments(db, query);
  const ranked = query.by === 'meaning' ? [] : rankDocuments(db, query, terms);
  if (meaning === undefined)
    return ranked.slice(0, query.limit).map(({ row, score, wanted }) => hitOf(row, score, wanted));
  const known = new Map(ranked.map((one) => [one.row.id, one]));
  const byId = db.prepare(`SELECT ${COLUMNS} FROM documents d WHERE d.id = ?`);
  const byWords = ranked.slice(0, Math.max(MOST_FUSED, query.limit)).map(({ row }) => row.id);
  const near = meaning.map(({ id }) => id);
  return fused(byWords, near, query.limit).flatMap(({ id, score }) => {
    const found = known.get(id);
    if (found !== undefined) return [hitOf(found.row, score, found.wanted)];
    const row = byId.get(id);
    return row === undefined ? [] : [hitOf(rowOf(row), score, [])];
  });
}

/** By words: scored with BM25 and age. Later steps run only while hits are missing. */
function rankDocuments(db: DatabaseSync, query: SearchQuery, terms: readonly Term[]): readonly Ranked[] {
  const total = Number(db.prepare('SELECT max(id) AS n FROM documents').get()?.['n'] ?? 0);
  const newest = Number(db.prepare('SELECT max(at) AS at FROM documents').get()?.['at'] ?? 0);
  const found = new Map<number, Ranked>();
  for (const step of STEPS) {
    const sought = step.pairs ? terms.flatMap(withPairs) : terms;
    const wanted = sought.map((term) => termQueryOf(db, term, step));
    if (step.spelling && wanted.every(({ words }, index) => words.length <= 1 && words[0] === sought[index]?.text))
      break;
    for (const row of candidates(db, query, wanted, step.join)) {
      if (found.has(row.id)) continue;
      const score = step.weight * bm25(row.text, wanted, total) * ageWeight(row.at, newest);
      found.set(row.id, { row, score, wanted });
    }
    if (found.size >= query.limit) break;
  }
  return [...found.values()].toSorted((a, b) => b.score - a.score || b.row.id - a.row.id);
}

/** Builds the query of one term for a search step. */
function termQueryOf(db: DatabaseSync, term: Term, step: (typeof STEPS)[number]): TermQuery {
  const { kind, text } = term;
  const frequency = db.prepare('SELECT doc FROM vocabulary WHERE term = ?');
  const documentsOf = (word: string): number => Number(frequency.get(word)?.['doc'] ?? 0);
  if (kind !== 'word') {
    const match = `${kind === 'singles' ? 'singles' : 'body'} : ${quoted(text)}`;
    return { term, words: [text], match, documents: 0, rarity: Math.min(...text.split(' ').map(documentsOf)) };
  }
  const documents = documentsOf(text);
  if (step.spelling && documents === 0) {
    const words = bestSpellings(db, text);
    const match = words.length === 0 ? `body : ${quoted(text)}` : `body : (${words.map(quoted).join(' OR ')})`;
    const most = Math.max(0, ...words.map(documentsOf));
    return { term, words, match, documents: most, rarity: most };
  }
  const whole = { term, words: [text], match: `body : ${quoted(text)}`, documents, rarity: documents };
  if (!step.prefix || text.length < 3) return whole;
  const beginning = db.prepare('SELECT sum(doc) AS n FROM vocabulary WHERE term >= ? AND term < ?');
  const many = Number(beginning.get(text, `${text}\u{10ffff}`)?.['n'] ?? 0);
  return { ...whole, match: `${whole.match} *`, documents: many, rarity: many };
}

/** A run of single characters, which no spaces divide into words, and each two of them in a row. */
function withPairs(term: Term): readonly Term[] {
  const characters = term.text.split(' ');
  if (term.kind !== 'singles' || characters.length < 3) return [term];
  const pairs = characters.slice(1, MOST_PAIRS + 1).map((next, at) => `${characters[at]} ${next}`);
  return [term, ...pairs.map((text) => ({ kind: 'singles' as const, text }))];
}

function candidates(db: DatabaseSync, query: SearchQuery, wanted: readonly TermQuery[], join: string): readonly Row[] {
  const texts = wanted.map(({ match }) => `(${match})`).join(join);
  const match = query.scope === 'all' ? texts : `(${texts}) AND scope : (${query.scope.map(scopeWord).join(' OR ')})`;
  const counts = wanted.map(({ documents }) => documents);
  const reach = join === ' AND ' ? Math.min(...counts) : Math.max(...counts);
  const order = reach > MOST_RANKED ? 'words.rowid DESC' : 'words.rank';
  const time = timeCondition(query);
  return db
    .prepare(
      `SELECT ${COLUMNS} FROM words JOIN documents d ON d.id = words.rowid
       WHERE words MATCH ? AND ${time.sql} ORDER BY ${order} LIMIT ${MOST_CANDIDATES}`,
    )
    .all(match, ...time.values)
    .map(rowOf);
}

/** What was said in a time: summaries first, then the newest. */
function listDocuments(db: DatabaseSync, { limit, ...query }: SearchQuery): readonly MemoryHit[] {
  const { since, until } = query;
  if (since === undefined && until === undefined) return [];
  const scope = scopeCondition(query.scope);
  return db
    .prepare(
      `SELECT ${COLUMNS} FROM documents d WHERE d.at BETWEEN ? AND ? AND ${scope.sql}
       ORDER BY d.source = 'history' DESC, d.at DESC, d.id DESC LIMIT ?`,
    )
    .all(since ?? 0, until ?? Number.MAX_SAFE_INTEGER, ...scope.values, limit)
    .map((row, index) => hitOf(rowOf(row), 1 / (index + 1), []));
}

function bm25(text: string, wanted: readonly TermQuery[], total: number): number {
  const words = wordsOf(text);
  const folded = ` ${words.join(' ')} `;
  const singles = singlesOf(text);
  const length = words.length + singles.length / 2;
  let score = 0;
  for (const { term, words: variants, rarity: documents } of wanted) {
    const inText = (word: string): number => {
      if (term.kind === 'singles') return occurrences(singles, word);
      const begun = occurrences(folded, ` ${word}`);
      return begun === 0 ? 0 : begun - (1 - ONLY_BEGUN) * (begun - occurrences(folded, ` ${word} `));
    };
    const count = variants.reduce((sum, word) => sum + inText(word), 0);
    const rarity = Math.log(1 + (total - documents + 0.5) / (documents + 0.5));
    score += (rarity * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / USUAL_LENGTH));
  }
  return score;
}

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}

function ageWeight(at: number | null, newest: number): number {
  if (at === null) return 1;
  return 0.5 + 0.5 * 2 ** (-Math.max(0, newest - at) / HALF_LIFE_MS);
}

/** Corrections of a word that the index does not have: indexed words that contain it, and indexed words similar to it. */
function bestSpellings(db: DatabaseSync, word: string): readonly string[] {
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
