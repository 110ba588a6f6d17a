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
    /** Nothing was found in that time, so that the hits are from any. */
    readonly isMissed: boolean;
  } | null;
}

/**
 * Searches in the time that the words of the question name. A question of nothing else lists what was said then. Times that
 * the query has itself come first. Rejects as the retriever does.
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
  return { hits: await retriever.search(query), time: { ...ends, isMissed: true } };
}

function isWithin({ at }: MemoryHit, { since = 0, until = Infinity }: { since?: number; until?: number }): boolean {
  return at !== undefined && since <= at && at <= until;
}
