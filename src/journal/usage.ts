import type { Usage } from '../util/usage.ts';
import type { LedgerPorts } from './rows.ts';

/** One model call as it is counted. */
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

/** What model calls cost, one row each. */
export class UsageLedger {
  readonly #ports: LedgerPorts;

  constructor(ports: LedgerPorts) {
    this.#ports = ports;
  }

  record(row: UsageRow): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        `INSERT INTO usage
           (turn_id, session, source, provider, model, input, cached, cache_write, output, reasoning, cost_usd, at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
        clock.now(),
      );
    });
  }

  /** Sums since a time, ms since 1970; of one session or of all. */
  since(time: number, session?: string): { readonly calls: number; readonly usage: Usage } {
    const sql = `SELECT count(*) AS calls, coalesce(sum(input), 0) AS input, coalesce(sum(cached), 0) AS cached,
      coalesce(sum(cache_write), 0) AS cache_write, coalesce(sum(output), 0) AS output,
      coalesce(sum(reasoning), 0) AS reasoning FROM usage WHERE at >= ?`;
    const row =
      session === undefined
        ? this.#ports.db.get(sql, time)
        : this.#ports.db.get(`${sql} AND session = ?`, time, session);
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
    };
  }
}
