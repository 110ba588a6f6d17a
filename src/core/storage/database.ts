import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { Clock } from '../util/clock.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { Checkpoints } from './checkpoints.ts';
import { CommitSync, type CommitWatermark, type WatermarkListeners } from './commit-sync.ts';
import type { Durability } from './files.ts';

interface PendingWrite {
  readonly work: () => unknown;
  readonly durability: Durability;
  readonly onCommitted?: (value: unknown) => void;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** A write that has run: how to tell that it is committed and to settle its promise, and the lowest sequence number it added to each queue. */
interface DoneWrite {
  readonly item: PendingWrite;
  readonly committed?: () => void;
  readonly settle: () => void;
  readonly queued: ReadonlyMap<string, number>;
}

/**
 * After this many ms of work a transaction ends; the remaining writes wait for the next, so nothing else is blocked.
 */
const TRANSACTION_MS = 3;
/** How long closing waits for a lock on the database, ms. */
const CLOSING_BUSY_MS = 3_000;
/** How many waiting writes are resolved in one round of the event loop. */
const SETTLED_PER_ROUND = 16;

export interface DatabaseOptions {
  readonly clock: Clock;
  /** The file of `db`; its write-ahead log is what is synced. */
  readonly path: string;
  /** Called once when a sync failed: all waiting and later writes reject, and the process has to be restarted. */
  readonly onSyncFailure?: (error: AppError) => void;
  /** Called with the reason when a checkpoint failed. @default failures are ignored */
  readonly onCheckpointFailure?: (reason: string) => void;
  /** Called with the error of each failed write or read, and with `journal-damaged` when the file is found damaged. */
  readonly onFailure?: (error: unknown) => void;
  /** Makes the commits of `db` durable. @default the disk does, `CommitSync` */
  readonly watermark?: (db: DatabaseSync, listeners: WatermarkListeners) => CommitWatermark;
}

/**
 * The SQLite database of the journal: caches prepared statements, groups the writes of one round of the event loop into
 * one transaction, and makes them durable with a sync in the thread pool. With `queued` and `durableUpTo` the reader of
 * a queue stops before rows that a power loss could still undo.
 */
export class Database {
  readonly #db: DatabaseSync;
  readonly #onFailure: DatabaseOptions['onFailure'];
  readonly #statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  readonly #sync: CommitWatermark;
  readonly #checkpoints: Checkpoints;
  readonly #listeners = new Map<string, Set<() => void>>();
  /** By queue: each commit that is not durable yet, with the lowest sequence number that it added. */
  readonly #unsynced = new Map<string, readonly { readonly commit: number; readonly seq: number }[]>();
  /** Who waits until the rows of a queue are durable. */
  #watching: { readonly commit: number; readonly settled: PromiseWithResolvers<void> }[] = [];
  #pending: PendingWrite[] = [];
  #queuedNow = new Map<string, number>();
  /** Rows changed since the last commit. */
  #changed = 0;
  #isScheduled = false;
  #isPaused = false;
  /** The write-ahead log is gone: nothing is written any more. */
  #lost: AppError | undefined;
  #closed = false;

  constructor(db: DatabaseSync, options: DatabaseOptions) {
    const { path, clock, onSyncFailure, onCheckpointFailure, onFailure } = options;
    this.#db = db;
    this.#onFailure = onFailure;
    const listeners: WatermarkListeners = {
      onFailure: (error) => {
        for (const { settled } of this.#watching.splice(0)) settled.reject(error);
        onSyncFailure?.(error);
      },
      onDurable: (commit) => this.#notifyQueues(commit),
    };
    this.#sync = options.watermark?.(db, listeners) ?? new CommitSync(`${path}-wal`, { clock, ...listeners });
    this.#checkpoints = new Checkpoints(path, {
      clock,
      pause: () => (this.#isPaused = true),
      resume: () => {
        this.#isPaused = false;
        if (this.#pending.length > 0) this.#schedule();
      },
      failed: (reason) => onCheckpointFailure?.(reason),
      damaged: (reason) => onFailure?.(new AppError('journal-damaged', reason)),
      logLost: (reason) => this.#logLost(reason, onSyncFailure),
    });
  }

  /** Runs a statement; inside `write` it is part of that transaction. Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    const changes = Number(this.#prepare(sql).run(...values).changes);
    this.#changed += changes;
    return changes;
  }

  /** Runs an INSERT; returns the new row's id, or null when there is no new row. */
  insert(sql: string, ...values: SQLInputValue[]): number | null {
    const { changes, lastInsertRowid } = this.#prepare(sql).run(...values);
    this.#changed += Number(changes);
    return Number(changes) === 0 ? null : Number(lastInsertRowid);
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    const row = this.#reported(() => this.#prepare(sql).get(...values));
    return row === undefined ? undefined : new Row(row);
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#reported(() => this.#prepare(sql).all(...values)).map((row) => new Row(row));
  }

  /**
   * Queues synchronous work. Work queued in one round of the event loop shares a transaction of a few milliseconds.
   * Resolves with the result of the work when it is as durable as requested. Work that throws is rolled back alone (to
   * a savepoint) and rejects; a failed commit rejects everything in its transaction. `onCommitted` is called with the result
   * right after the commit, which is not durable then; it must not throw.
   */
  write<T>(work: () => T, durability: Durability = 'durable', onCommitted?: (value: T) => void): Promise<T> {
    if (this.#closed) return Promise.reject(new AppError('journal-closed', 'The journal is closed.'));
    const failure = this.#lost ?? this.#sync.failure;
    if (failure !== undefined) return Promise.reject(failure);
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ work, durability, onCommitted, resolve, reject } as PendingWrite);
      this.#schedule();
    });
  }

  /** Resolves when everything written so far survives a power loss; does not start a sync by itself. */
  settled(): Promise<void> {
    return this.#sync.settled();
  }

  /**
   * Call inside `write`: a queue got a row with this sequence number. Its listeners are called when that is durable.
   */
  queued(queue: string, seq: number): void {
    this.#queuedNow.set(queue, Math.min(seq, this.#queuedNow.get(queue) ?? seq));
  }

  /** Rows of a queue up to this sequence number survive a power loss; later ones must not be acted upon yet. */
  durableUpTo(queue: string): number {
    const waiting = this.#unsynced.get(queue) ?? [];
    return waiting.reduce((lowest, { seq }) => Math.min(lowest, seq - 1), Number.MAX_SAFE_INTEGER);
  }

  /**
   * Resolves when the rows that a queue has now are durable; does not start a sync by itself. Rejects when they cannot become that;
   * may stay open when the journal is closed.
   */
  async untilDurable(queue: string): Promise<void> {
    const commit = this.#unsynced.get(queue)?.at(-1)?.commit;
    if (commit === undefined) return;
    if (this.#sync.failure !== undefined) throw this.#sync.failure;
    const settled = Promise.withResolvers<void>();
    this.#watching.push({ commit, settled });
    await settled.promise;
  }

  /** Calls back whenever new rows of a queue are durable. */
  onQueued(queue: string, listener: () => void): Disposable {
    const listeners = this.#listeners.get(queue) ?? new Set();
    this.#listeners.set(queue, listeners.add(listener));
    return { [Symbol.dispose]: () => void listeners.delete(listener) };
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#isPaused) return;
      if (this.#pending.length > 0) this.#commit(TRANSACTION_MS);
      if (this.#pending.length > 0) this.#schedule();
    });
  }

  /** Runs the oldest queued writes in one transaction; if it cannot begin or commit, all queued writes are rejected. */
  #commit(maxMs: number): void {
    const queue = this.#pending;
    this.#pending = [];
    const done: DoneWrite[] = [];
    // Nothing was changed and no one waits for the disk: there is nothing to make durable.
    let isEmpty = false;
    try {
      this.#prepare('BEGIN IMMEDIATE').run();
      const until = performance.now() + maxMs;
      for (const item of queue) {
        done.push(this.#attempt(item, { isFirst: done.length === 0 }));
        if (performance.now() >= until) break;
      }
      isEmpty = this.#changed === 0 && done.every(({ item }) => item.durability === 'lazy');
      if (!isEmpty) this.#sync.committing?.();
      this.#prepare('COMMIT').run();
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      for (const { reject } of queue) reject(error);
      this.#onFailure?.(error);
      return;
    }
    if (done.length < queue.length) this.#pending = [...queue.slice(done.length), ...this.#pending];
    if (isEmpty) this.#settle(done.map(({ settle }) => settle));
    else this.#committed(done);
  }

  #committed(done: readonly DoneWrite[]): void {
    const commit = this.#sync.committed();
    for (const { queued } of done) {
      for (const [queue, seq] of queued) {
        this.#unsynced.set(queue, [...(this.#unsynced.get(queue) ?? []), { commit, seq }]);
      }
    }
    for (const { committed } of done) committed?.();
    const lazy = done.filter(({ item }) => item.durability === 'lazy');
    const durable = done.filter(({ item }) => item.durability === 'durable');
    this.#settle(lazy.map(({ settle }) => settle));
    if (durable.length > 0) {
      this.#sync.durable(commit).then(
        () => this.#settle(durable.map(({ settle }) => settle)),
        (error: unknown) => {
          for (const { item } of durable) item.reject(error);
        },
      );
    }
    this.#checkpoints.committed(this.#changed);
    this.#changed = 0;
  }

  #notifyQueues(commit: number): void {
    const reached = this.#watching.filter((one) => one.commit <= commit);
    this.#watching = this.#watching.filter((one) => one.commit > commit);
    for (const { settled } of reached) settled.resolve();
    for (const [queue, waiting] of this.#unsynced) {
      const rest = waiting.filter((entry) => entry.commit > commit);
      if (rest.length === waiting.length) continue;
      this.#unsynced.set(queue, rest);
      for (const listener of this.#listeners.get(queue) ?? []) listener();
    }
  }

  /**
   * Resolves a few at a time: the code that waits for them would otherwise run all at once and block the event loop.
   */
  #settle(settled: readonly (() => void)[]): void {
    for (const settle of settled.slice(0, SETTLED_PER_ROUND)) settle();
    if (settled.length > SETTLED_PER_ROUND) setImmediate(() => this.#settle(settled.slice(SETTLED_PER_ROUND)));
  }

  /**
   * Work that fails is rolled back alone: to its savepoint, or with the transaction when it is the first work in it.
   */
  #attempt(item: PendingWrite, { isFirst }: { readonly isFirst: boolean }): DoneWrite {
    const { work, onCommitted, resolve, reject } = item;
    this.#queuedNow = new Map();
    if (!isFirst) this.#prepare('SAVEPOINT work').run();
    try {
      const value = work();
      if (!isFirst) this.#prepare('RELEASE work').run();
      return { item, committed: () => onCommitted?.(value), settle: () => resolve(value), queued: this.#queuedNow };
    } catch (error) {
      this.#onFailure?.(error);
      // On a full disk SQLite may have rolled back the whole transaction: then everything in it is rejected.
      if (!this.#db.isTransaction) throw error;
      this.#db.exec(isFirst ? 'ROLLBACK; BEGIN IMMEDIATE' : 'ROLLBACK TO work; RELEASE work');
      return { item: { ...item, durability: 'lazy' }, settle: () => reject(error), queued: new Map() };
    }
  }

  /** This connection is the only one that still has the log: copies it into the file. Nothing may be written after that. */
  #logLost(reason: string, onSyncFailure: DatabaseOptions['onSyncFailure']): void {
    if (this.#lost !== undefined || this.#closed) return;
    while (this.#pending.length > 0) this.#commit(Number.POSITIVE_INFINITY);
    let kept = 'What it held is saved in the file of the journal';
    try {
      this.#db.exec('PRAGMA wal_checkpoint(PASSIVE)');
    } catch (error) {
      kept = `What it held could not be saved: ${errorMessage(error)}`;
    }
    this.#lost = new AppError('sync-failed', `${reason}. ${kept}.`);
    onSyncFailure?.(this.#lost);
  }

  /** Commits the queued writes and then `last`, syncs and closes. */
  close(last?: () => void): void {
    if (this.#closed) return;
    if (last !== undefined) this.write(last).catch(() => {});
    // A checkpoint may hold the lock for the time of a sync.
    this.#db.exec(`PRAGMA busy_timeout = ${CLOSING_BUSY_MS}`);
    while (this.#pending.length > 0) this.#commit(Number.POSITIVE_INFINITY);
    this.#closed = true;
    this.#checkpoints.close();
    this.#sync.close();
    this.#statements.clear();
    this.#db.close();
  }

  #reported<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      this.#onFailure?.(error);
      throw error;
    }
  }

  #prepare(sql: string): ReturnType<DatabaseSync['prepare']> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }
}

/** A row with typed, checked access to its columns. */
export class Row {
  readonly #columns: Readonly<Record<string, unknown>>;

  constructor(columns: Readonly<Record<string, unknown>>) {
    this.#columns = columns;
  }

  text(column: string): string {
    const value = this.#columns[column];
    if (typeof value !== 'string') throw new TypeError(`column ${column} is not text`);
    return value;
  }

  textOrNull(column: string): string | null {
    return this.#columns[column] === null ? null : this.text(column);
  }

  number(column: string): number {
    const value = this.#columns[column];
    if (typeof value !== 'number') throw new TypeError(`column ${column} is not a number`);
    return value;
  }

  numberOrNull(column: string): number | null {
    return this.#columns[column] === null ? null : this.number(column);
  }
}
