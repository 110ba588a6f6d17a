import type { Row } from '../storage/database.ts';
import { addUsage, noUsage, type Usage } from '../util/token-usage.ts';
import { namesOf, JournalStore } from './rows.ts';

/** The usage of one model call. */
export interface UsageRow {
  readonly turnId: string | null;
  readonly session: string;
  readonly source: string;
  readonly provider: string;
  readonly model: string;
  readonly usage: Usage;
  /** Null when the model's price is unknown. */
  readonly costUsd: number | null;
}

/** The sum of several model calls. */
export interface UsageSum {
  readonly calls: number;
  readonly usage: Usage;
  /** US dollars of the calls whose price is known. */
  readonly costUsd: number;
  /** Number of calls whose price is unknown. */
  readonly unpriced: number;
  /** Number of calls whose tokens are an estimate. @default none */
  readonly estimated?: number;
}

/** The sums of a day so far. */
export interface UsageDay {
  readonly total: UsageSum;
  of(source: string): UsageSum;
  ofSession(session: string): UsageSum;
}

/** SQL: the columns of a `UsageSum`; `toSum` reads them. */
export const SUMS = `coalesce(sum(calls), 0) AS calls, coalesce(sum(input), 0) AS input, coalesce(sum(cached), 0) AS cached,
  coalesce(sum(cache_write), 0) AS cache_write, coalesce(sum(output), 0) AS output,
  coalesce(sum(reasoning), 0) AS reasoning, coalesce(sum(cost_usd), 0) AS cost,
  coalesce(sum(CASE WHEN cost_usd IS NULL THEN calls ELSE unpriced END), 0) AS unpriced,
  coalesce(sum(estimated), 0) AS estimated`;

/** SQL: what sums are made for. */
const GROUPS = {
  quarter: 'at / 900000 * 900000',
  model: "provider || '/' || model",
  source: 'source',
  job: 'session',
  session: 'session',
} as const;

export type UsageGroup = keyof typeof GROUPS;

/** SQL: a total of all time; `toSum` reads it. */
const TOTAL = `SELECT usage_total.*, coalesce(usage_estimates.calls, 0) AS estimated
  FROM usage_total LEFT JOIN usage_estimates ON usage_estimates.session = usage_total.session
  WHERE usage_total.session = ?`;

/** Name of the total over all sessions. */
const EVERYWHERE = '';

/**
 * Tokens and cost of model calls: one row for each call, which retention folds into sums of an hour and then of a day, and
 * running totals, so that no query has to add up years.
 */
export class UsageStore extends JournalStore {
  readonly #listeners = new Set<(row: UsageRow) => void>();
  #day: RunningDay | undefined;

  /** Counts a call. It is in the sums of the day at once, and durable with the next durable write, such as the close of its turn. */
  record(row: UsageRow): Promise<void> {
    const { db, clock } = this.journal;
    const at = clock.now();
    this.#day?.add(row, at);
    for (const listener of this.#listeners) listener(row);
    return db.write(() => {
      db.run(
        `INSERT INTO usage
           (turn_id, session, source, provider, model, input, cached, cache_write, output, reasoning, cost_usd, at,
            estimated)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        row.turnId,
        row.session,
        row.source,
        row.provider,
        row.model,
        row.usage.input,
        row.usage.cached,
        row.usage.cacheWrite,
        row.usage.output,
        row.usage.reasoning,
        row.costUsd,
        at,
        row.usage.estimated === true ? 1 : 0,
      );
      this.#addToTotal(row.session, row);
      this.#addToTotal(EVERYWHERE, row);
    }, 'lazy');
  }

  /** Adds a listener for each call that is counted from now on; it must not throw. */
  onRecord(listener: (row: UsageRow) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => this.#listeners.delete(listener) };
  }

  /** The sum since `time` (ms since 1970, within the last 90 days; 0: of all time), of one session or of all. */
  since(time: number, session?: string): UsageSum {
    const { db } = this.journal;
    if (time <= 0) return toSum(db.get(TOTAL, session ?? EVERYWHERE));
    const sql = `SELECT ${SUMS} FROM usage WHERE at >= ?`;
    return toSum(session === undefined ? db.get(sql, time) : db.get(`${sql} AND session = ?`, time, session));
  }

  /**
   * The sums since `time` (ms since 1970), one for each value of `group`. A job's name is its session, `cron:ID`, or the
   * chat that it runs in. For `quarter`, which a caller adds up to days of a time zone, it is the start of a quarter of an
   * hour, ms since 1970.
   */
  grouped(group: UsageGroup, time: number): readonly (UsageSum & { readonly name: string })[] {
    const { db } = this.journal;
    const rows = db.all(
      `SELECT CAST(${GROUPS[group]} AS TEXT) AS name, ${SUMS} FROM usage
       WHERE at >= ? AND ${this.#callsOf(group)} GROUP BY 1 ORDER BY 1`,
      time,
    );
    return rows.map((row) => ({ name: row.text('name'), ...toSum(row) }));
  }

  /** SQL: the calls that a group is made of. */
  #callsOf(group: UsageGroup): string {
    if (group !== 'job') return 'true';
    return `source IN ${namesOf(this.journal.origins.all.filter(({ hasJobs }) => hasJobs === true))}`;
  }

  /** As `grouped`, for each quarter of an hour (ms since 1970) and each value of `group`. */
  series(
    group: Exclude<UsageGroup, 'quarter'>,
    time: number,
  ): readonly (UsageSum & { readonly quarter: number; readonly name: string })[] {
    const rows = this.journal.db.all(
      `SELECT ${GROUPS.quarter} AS quarter, ${GROUPS[group]} AS name, ${SUMS} FROM usage
       WHERE at >= ? AND ${this.#callsOf(group)} GROUP BY 1, 2 ORDER BY 1`,
      time,
    );
    return rows.map((row) => ({ quarter: row.number('quarter'), name: row.text('name'), ...toSum(row) }));
  }

  /** The sum of one turn of a session; `began`: ms since 1970, when the turn began or earlier. */
  ofTurn(turnId: string, session: string, began: number): UsageSum {
    const sql = `SELECT ${SUMS} FROM usage WHERE session = ? AND at >= ? AND turn_id = ?`;
    return toSum(this.journal.db.get(sql, session, began, turnId));
  }

  #addToTotal(session: string, { usage, costUsd }: UsageRow): void {
    this.journal.db.run(
      `INSERT INTO usage_total VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (session) DO UPDATE SET calls = calls + 1, input = input + excluded.input,
         cached = cached + excluded.cached, cache_write = cache_write + excluded.cache_write,
         output = output + excluded.output, reasoning = reasoning + excluded.reasoning, cost = cost + excluded.cost,
         unpriced = unpriced + excluded.unpriced`,
      session,
      usage.input,
      usage.cached,
      usage.cacheWrite,
      usage.output,
      usage.reasoning,
      costUsd ?? 0,
      costUsd === null ? 1 : 0,
    );
    if (usage.estimated !== true) return;
    this.journal.db.run(
      'INSERT INTO usage_estimates VALUES (?, 1) ON CONFLICT (session) DO UPDATE SET calls = calls + 1',
      session,
    );
  }

  /** The sums since a time, read once and then kept up to date. */
  day(since: number): UsageDay {
    if (this.#day?.since !== since) {
      const rows = this.journal.db.all(
        `SELECT source, session, ${SUMS} FROM usage WHERE at >= ? GROUP BY source, session`,
        since,
      );
      this.#day = new RunningDay(since);
      for (const row of rows) this.#day.addSum(row.text('source'), row.text('session'), toSum(row));
    }
    return this.#day;
  }
}

/** The sums of one day, in memory. Holds one entry for each chat of that day. */
class RunningDay implements UsageDay {
  readonly since: number;
  total: UsageSum = NOTHING;
  readonly #bySource = new Map<string, UsageSum>();
  readonly #bySession = new Map<string, UsageSum>();

  constructor(since: number) {
    this.since = since;
  }

  of(source: string): UsageSum {
    return this.#bySource.get(source) ?? NOTHING;
  }

  ofSession(session: string): UsageSum {
    return this.#bySession.get(session) ?? NOTHING;
  }

  add(row: UsageRow, at: number): void {
    if (at >= this.since) this.addSum(row.source, row.session, sumOfCall(row));
  }

  addSum(source: string, session: string, sum: UsageSum): void {
    this.total = addSums(this.total, sum);
    this.#bySource.set(source, addSums(this.of(source), sum));
    this.#bySession.set(session, addSums(this.ofSession(session), sum));
  }
}

export const NOTHING: UsageSum = { calls: 0, usage: noUsage, costUsd: 0, unpriced: 0 };

/** The sum of one call. */
export function sumOfCall({ usage, costUsd }: Pick<UsageRow, 'usage' | 'costUsd'>): UsageSum {
  const { input, cached, cacheWrite, output, reasoning, estimated } = usage;
  return {
    calls: 1,
    usage: { input, cached, cacheWrite, output, reasoning },
    costUsd: costUsd ?? 0,
    unpriced: costUsd === null ? 1 : 0,
    ...estimates(estimated === true ? 1 : 0),
  };
}

function estimates(estimated: number): Pick<UsageSum, 'estimated'> {
  return estimated === 0 ? {} : { estimated };
}

export function addSums(a: UsageSum, b: UsageSum): UsageSum {
  return {
    calls: a.calls + b.calls,
    usage: addUsage(a.usage, b.usage),
    costUsd: a.costUsd + b.costUsd,
    unpriced: a.unpriced + b.unpriced,
    ...estimates((a.estimated ?? 0) + (b.estimated ?? 0)),
  };
}

export function toSum(row: Row | undefined): UsageSum {
  const sum = (column: string): number => row?.number(column) ?? 0;
  return {
    calls: sum('calls'),
    usage: {
      input: sum('input'),
      cached: sum('cached'),
      cacheWrite: sum('cache_write'),
      output: sum('output'),
      reasoning: sum('reasoning'),
    },
    costUsd: sum('cost'),
    unpriced: sum('unpriced'),
    ...estimates(sum('estimated')),
  };
}
