import { DatabaseSync, StatementSync } from 'node:sqlite';

/** What held up the event loop longest, by the text of its statement. */
export interface Longest {
  readonly ms: number;
  readonly sql: string;
}

export interface StatementTimes extends Disposable {
  /** The statement whose median is the longest: one that is slow is slow each time, a busy machine is not. */
  readonly statement: Longest;
  /** The longest single execution. */
  readonly outlier: Longest;
  /** From the begin of a transaction to the end of its commit. */
  readonly transaction: Longest;
  /** Forgets what was measured. */
  reset(): void;
}

const NOTHING: Longest = { ms: 0, sql: '' };

/**
 * Measures every SQLite statement of this process until it is disposed of, in processor time of this thread, because a
 * busy machine is nobody's statement.
 */
export function watchStatements(): StatementTimes {
  let outlier = NOTHING;
  const all = new Map<string, number[]>();
  let transaction = NOTHING;
  let began = 0;
  let inside: Longest = NOTHING;
  const note = (sql: string, ms: number): void => {
    const times = all.get(sql) ?? [];
    all.set(sql, times);
    if (times.length < 10_000) times.push(ms);
    if (ms > outlier.ms) outlier = { ms, sql };
    if (ms > inside.ms) inside = { ms, sql };
  };
  const exec: unknown = Reflect.get(DatabaseSync.prototype, 'exec');
  if (typeof exec !== 'function') throw new Error('node:sqlite has no exec');
  const originals = new Map(['run', 'get', 'all'].map((name) => [name, Reflect.get(StatementSync.prototype, name)]));
  Reflect.set(DatabaseSync.prototype, 'exec', function timed(this: DatabaseSync, sql: string): void {
    const start = worked();
    if (sql === 'BEGIN IMMEDIATE') {
      began = start;
      inside = NOTHING;
    }
    try {
      Reflect.apply(exec, this, [sql]);
    } finally {
      const end = worked();
      note(sql, end - start);
      if (sql === 'COMMIT' && end - began > transaction.ms) transaction = { ms: end - began, sql: inside.sql };
    }
  });
  for (const [name, original] of originals) {
    Reflect.set(StatementSync.prototype, name, function timed(this: StatementSync, ...values: unknown[]): unknown {
      const start = worked();
      try {
        return Reflect.apply(original, this, values);
      } finally {
        note(this.sourceSQL, worked() - start);
      }
    });
  }
  return {
    get statement() {
      return [...all].reduce((longest, [sql, times]) => {
        const ms = times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) / 2)] ?? 0;
        return ms > longest.ms ? { ms, sql } : longest;
      }, NOTHING);
    },
    get outlier() {
      return outlier;
    },
    get transaction() {
      return transaction;
    },
    reset: () => {
      all.clear();
      outlier = NOTHING;
      transaction = NOTHING;
    },
    [Symbol.dispose]: () => {
      Reflect.set(DatabaseSync.prototype, 'exec', exec);
      for (const [name, original] of originals) Reflect.set(StatementSync.prototype, name, original);
    },
  };
}

/** Milliseconds of processor time of this thread. */
function worked(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
