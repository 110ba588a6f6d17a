import type { JournalDatabase, Swept } from './rows.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Rows of single calls become one row for each hour after 90 days, and one for each day after 365 days. */
const FOLDS = [
  { from: 'call', to: 'hour', spanMs: HOUR_MS, afterMs: 90 * DAY_MS },
  { from: 'hour', to: 'day', spanMs: DAY_MS, afterMs: 365 * DAY_MS },
] as const;

/** Folds, within a transaction, the oldest rows that are old enough into sums, until at least `limit` rows are gone. */
export function foldUsage(journal: JournalDatabase, now: number, limit: number): Swept {
  for (let rows = 0; ;) {
    const folded = foldOldest(journal, now);
    rows += folded;
    if (folded === 0) return { rows, more: false };
    if (rows >= limit) return { rows, more: true };
  }
}

/** Folds the oldest hour or day into one row for each session, source and model. Returns how many rows it replaced. */
function foldOldest({ db }: JournalDatabase, now: number): number {
  for (const { from, to, spanMs, afterMs } of FOLDS) {
    const at = db.get(`SELECT min(at) AS at FROM usage WHERE span = '${from}'`)?.numberOrNull('at') ?? null;
    if (at === null) continue;
    const begins = Math.floor(at / spanMs) * spanMs;
    const ends = begins + spanMs;
    if (ends > now - afterMs) continue;
    db.run(
      `INSERT INTO usage (turn_id, session, source, provider, model, input, cached, cache_write, output, reasoning,
         cost_usd, at, span, calls, unpriced, estimated)
       SELECT NULL, session, source, provider, model, sum(input), sum(cached), sum(cache_write), sum(output),
         sum(reasoning), sum(cost_usd), ?, '${to}', sum(calls),
         sum(CASE WHEN cost_usd IS NULL THEN calls ELSE unpriced END), sum(estimated)
       FROM usage WHERE span = '${from}' AND at >= ? AND at < ? GROUP BY session, source, provider, model`,
      begins,
      begins,
      ends,
    );
    return db.run(`DELETE FROM usage WHERE span = '${from}' AND at >= ? AND at < ?`, begins, ends);
  }
  return 0;
}
