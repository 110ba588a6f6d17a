import { DatabaseSync, StatementSync } from 'node:sqlite';

/** What held up the event loop longest, by the text of its statement. */
export interface Longest {
  readonly ms: number;
  readonly sql: string;
}

export interface StatementTimes extends Disposable {
  /**
   * The longest that a statement took each of five times in a row, or each time if it ran less often, at least twice: a
   * busy machine or a collection of garbage is not met so often. One that ran once counts for `outlier` alone.
   */
  readonly statement: Longest;
  /** The longest single execution, by the clock or the processor, whichever was less. */
  readonly outlier: Longest;
  /** The same as `statement`, from the begin of a transaction to the end of its commit, by its longest statement. */
  readonly transaction: Longest;
  /** Forgets what was measured. */
  reset(): void;
}

const NOTHING: Longest = { ms: 0, sql: '' };
const IN_A_ROW = 5;

interface Took {
  readonly wallMs: number;
  /** Of this thread; the kernel counts it in steps of some milliseconds, so that only a mean of several is right. */
  readonly processorMs: number;
}

/** What takes long again and again: at least as much by the clock each time, and as much processor time in the mean. */
class Lasting {
  readonly #recent = new Map<string, readonly Took[]>();
  #longest = NOTHING;

  note(sql: string, took: Took): void {
    const recent = [...(this.#recent.get(sql) ?? []), took].slice(-IN_A_ROW);
    this.#recent.set(sql, recent);
    if (recent.length === IN_A_ROW) this.#longest = longer(this.#longest, { ms: lasting(recent), sql });
  }

  get longest(): Longest {
    return [...this.#recent].reduce(
      (longest, [sql, recent]) => (recent.length < 2 ? longest : longer(longest, { ms: lasting(recent), sql })),
      this.#longest,
    );
  }
}

function lasting(took: readonly Took[]): number {
  const processorMs = took.reduce((sum, one) => sum + one.processorMs, 0) / took.length;
  return Math.min(processorMs, ...took.map(({ wallMs }) => wallMs));
}

export function longer(a: Longest, b: Longest): Longest {
  return a.ms > b.ms ? a : b;
}

/** Measures every SQLite statement of this process until it is disposed of. */
export function watchStatements(): StatementTimes {
  let outlier = NOTHING;
  let statements = new Lasting();
  let transactions = new Lasting();
  let began = now();
  let inside: Longest = NOTHING;
  const timed = (sql: string, work: () => unknown): unknown => {
    const start = now();
    if (sql === 'BEGIN IMMEDIATE') {
      began = start;
      inside = NOTHING;
    }
    try {
      return work();
    } finally {
      const took = since(start);
      statements.note(sql, took);
      outlier = longer(outlier, { ms: Math.min(took.wallMs, took.processorMs), sql });
      inside = longer(inside, { ms: took.wallMs, sql });
      if (sql === 'COMMIT') transactions.note(inside.sql, since(began));
    }
  };
  const exec: unknown = Reflect.get(DatabaseSync.prototype, 'exec');
  if (typeof exec !== 'function') throw new Error('node:sqlite has no exec');
  const originals = new Map(['run', 'get', 'all'].map((name) => [name, Reflect.get(StatementSync.prototype, name)]));
  Reflect.set(DatabaseSync.prototype, 'exec', function timedExec(this: DatabaseSync, sql: string): void {
    timed(sql, () => Reflect.apply(exec, this, [sql]));
  });
  for (const [name, original] of originals) {
    Reflect.set(StatementSync.prototype, name, function timedRun(this: StatementSync, ...values: unknown[]): unknown {
      return timed(this.sourceSQL, () => Reflect.apply(original, this, values));
    });
  }
  return {
    get statement() {
      return statements.longest;
    },
    get outlier() {
      return outlier;
    },
    get transaction() {
      return transactions.longest;
    },
    reset: () => {
      statements = new Lasting();
      transactions = new Lasting();
      outlier = NOTHING;
    },
    [Symbol.dispose]: () => {
      Reflect.set(DatabaseSync.prototype, 'exec', exec);
      for (const [name, original] of originals) Reflect.set(StatementSync.prototype, name, original);
    },
  };
}

interface Now {
  readonly wall: number;
  readonly processor: NodeJS.CpuUsage;
}

function now(): Now {
  return { wall: performance.now(), processor: process.threadCpuUsage() };
}

function since({ wall, processor }: Now): Took {
  const { user, system } = process.threadCpuUsage(processor);
  return { wallMs: performance.now() - wall, processorMs: (user + system) / 1_000 };
}
