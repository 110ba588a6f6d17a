import type { MemoryHit, Retriever, SearchQuery } from '../search/retriever.ts';
import { isTelling } from '../search/stop-words.ts';
import { termsOf } from '../search/words.ts';
import { timeInQuestion } from './question-time.ts';

/** What a question found, and the time that its words name. */
export interface QuestionHits {
  readonly hits: readonly MemoryHit[];
  /** Null: the question names no time. */
  readonly time: {
    /** Milliseconds since 1970, both ends included; undefined: open. */
    readonly since?: number;
    readonly until?: number;
    /** Nothing with the words of the question is of that time. */
    readonly isMissed: boolean;
  } | null;
}

/**
 * Searches in the time that the words of the question name. A question of nothing else lists what was said then. Where its
 * other words are not of that time, what they find anywhere is joined by what was said then, so there may be twice as many hits.
 * Times that the query has itself come first. Rejects as the retriever does.
 */
export async function searchByQuestion(
  retriever: Retriever,
  query: SearchQuery,
  at: { readonly now: number; readonly timezone: string | null },
): Promise<QuestionHits> {
  const isTimed = query.since !== undefined || query.until !== undefined;
  const time = isTimed ? undefined : timeInQuestion(query.text, at);
  if (time === undefined) return { hits: await retriever.search(query), time: null };
  const { rest, dates, since, until } = time;
  const ends = { ...(since === undefined ? {} : { since }), ...(until === undefined ? {} : { until }) };
  const text = isTelling(termsOf(rest)) ? rest : '';
  const hits = await retriever.search({ ...query, ...ends, text, dates });
  if (hits.some((hit) => isWithin(hit, ends))) return { hits, time: { ...ends, isMissed: false } };
  const ofAnyTime = await retriever.search(query);
  const isShort = since !== undefined && (until ?? at.now) - since <= LONGEST_LISTED_MS;
  const ofThatTime = text !== '' && isShort ? await retriever.search({ ...query, ...ends, text: '' }) : [];
  return { hits: inTurn(ofAnyTime, ofThatTime), time: { ...ends, isMissed: true } };
}

/** A time in which little was said, so that what a question means is likely to be there in other words. */
const LONGEST_LISTED_MS = 31 * 86_400_000;

/** One of each in turn; what is in both, once. */
function inTurn(first: readonly MemoryHit[], second: readonly MemoryHit[]): readonly MemoryHit[] {
  const isSame = (a: MemoryHit, b: MemoryHit): boolean => a.at === b.at && a.snippet === b.snippet;
  const others = second.filter((hit) => !first.some((known) => isSame(hit, known)));
  const length = Math.max(first.length, others.length);
  return Array.from({ length }, (_, n) => [...first.slice(n, n + 1), ...others.slice(n, n + 1)]).flat();
}

function isWithin({ at }: MemoryHit, { since = 0, until = Infinity }: { since?: number; until?: number }): boolean {
  return at !== undefined && since <= at && at <= until;
}
