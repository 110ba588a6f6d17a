import type { SearchQuery } from './retriever.ts';
import { isTelling } from './stop-words.ts';
import { quoted, termsOf } from './words.ts';

/** A condition on a row `d` of the documents, with the values of its question marks. */
export interface TimeCondition {
  readonly sql: string;
  readonly values: readonly (number | string)[];
}

/** Which documents the times of a query leave. */
export function timeCondition({ since, until, dates }: SearchQuery): TimeCondition {
  if (since === undefined && until === undefined) return { sql: 'true', values: [] };
  const within = 'd.at BETWEEN ? AND ?';
  const values = [since ?? 0, until ?? Number.MAX_SAFE_INTEGER];
  if (dates === undefined) return { sql: within, values };
  const named = dates.flatMap(namedIn).join(' OR ');
  if (named === '') return { sql: `(d.at IS NULL OR ${within})`, values };
  const sql = `(d.at IS NULL OR ${within} OR d.id IN (SELECT rowid FROM words WHERE words MATCH ?))`;
  return { sql, values: [...values, named] };
}

/** The expression that finds texts which name a date; none for one of small numbers alone, which stand everywhere. */
function namedIn(date: string): readonly string[] {
  const terms = termsOf(date).filter((term) => isTelling([term]));
  if (terms.every(({ text }) => /^\d{1,2}$/u.test(text))) return [];
  const parts = terms.map(({ kind, text }) => `${kind === 'singles' ? 'singles' : 'body'} : ${quoted(text)}`);
  return [`(${parts.join(' AND ')})`];
}
