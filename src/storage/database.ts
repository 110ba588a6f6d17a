import { copyFile } from 'node:fs/promises';
import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { AppError, errorMessage } from '../util/errors.ts';

/** One step of a schema: its position in the list is the version it leads to. */
export type Migration = (db: DatabaseSync) => void;

export interface OpenDatabaseOptions {
  readonly path: string;
  readonly migrations: readonly Migration[];
  /** Where a copy goes before a migration of an existing file; null for none. */
  readonly backupPath: ((fromVersion: number) => string) | null;
}

/**
 * Opens an SQLite file in WAL mode with synchronous=FULL, so that a commit survives power loss, and brings its
 * schema up to date. A file from a newer program is refused untouched.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<DatabaseSync> {
  const existed = existsSync(options.path);
  let db: DatabaseSync;
  try {
    // SQLite gives its side files the mode of the file itself.
    closeSync(openSync(options.path, 'a', 0o600));
    db = new DatabaseSync(options.path, { timeout: 250 });
    db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
  } catch (error) {
    throw new AppError('database-unusable', `Could not open ${options.path}: ${errorMessage(error)}.`, {
      cause: error,
    });
  }
  const version = userVersion(db);
  const target = options.migrations.length;
  if (version > target) {
    db.close();
    throw new AppError(
      'database-too-new',
      `${options.path} was written by a newer version (schema ${version}, this program knows ${target}). Use that version, or restore a backup.`,
    );
  }
  if (version < target) {
    if (existed && version > 0 && options.backupPath !== null) {
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      await copyFile(options.path, options.backupPath(version));
    }
    migrate(db, version, options.migrations);
  }
  return db;
}

function userVersion(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
}

function migrate(db: DatabaseSync, from: number, migrations: readonly Migration[]): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const migration of migrations.slice(from)) migration(db);
    db.exec(`PRAGMA user_version = ${migrations.length}`);
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    db.close();
    throw error;
  }
}

interface PendingWrite {
  readonly work: () => unknown;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Work of one transaction; more than this would hold up everything else, so it shares the next. */
const MOST_MS = 8;
/** Who waits for a transaction and is told in one turn of the event loop. */
const MOST_TOLD = 16;

/** Prepared statements by their text, and writes grouped into one transaction per tick of the event loop. */
export class Database {
  readonly #db: DatabaseSync;
  readonly #statements = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  #pending: PendingWrite[] = [];
  #isScheduled = false;
  #closed = false;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Runs a statement; inside `write` it is part of that transaction. Returns the number of changed rows. */
  run(sql: string, ...values: SQLInputValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    const row = this.#prepare(sql).get(...values);
    return row === undefined ? undefined : new Row(row);
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#prepare(sql)
      .all(...values)
      .map((row) => new Row(row));
  }

  /**
   * Queues synchronous work; what is queued in one tick shares one durable transaction, as long as that takes a few
   * milliseconds. Resolves with the work's result after the commit. Work that throws is undone alone (a savepoint); a failed commit rejects them all.
   */
  write<T>(work: () => T): Promise<T> {
    if (this.#closed) return Promise.reject(new AppError('journal-closed', 'The journal is closed.'));
    return new Promise<T>((resolve, reject) => {
      this.#pending.push({ work, resolve: resolve as (value: unknown) => void, reject });
      this.#schedule();
    });
  }

  /** Commits what is queued now. */
  flush(): void {
    while (this.#pending.length > 0) this.#commit(Number.POSITIVE_INFINITY);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#pending.length > 0) this.#commit(MOST_MS);
      if (this.#pending.length > 0) this.#schedule();
    });
  }

  /** One transaction for the oldest of what is queued; where it can not be had, all that is queued fails. */
  #commit(mostMs: number): void {
    const queue = this.#pending;
    this.#pending = [];
    const settled: (() => void)[] = [];
    try {
      this.#db.exec('BEGIN IMMEDIATE');
      const until = performance.now() + mostMs;
      for (const item of queue) {
        settled.push(this.#attempt(item));
        if (performance.now() >= until) break;
      }
      this.#db.exec('COMMIT');
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec('ROLLBACK');
      for (const { reject } of queue) reject(error);
      return;
    }
    if (settled.length < queue.length) this.#pending = [...queue.slice(settled.length), ...this.#pending];
    this.#settle(settled);
  }

  /** Tells a few at a time: what they go on with would otherwise hold up everything else together. */
  #settle(settled: readonly (() => void)[]): void {
    for (const settle of settled.slice(0, MOST_TOLD)) settle();
    if (settled.length > MOST_TOLD) setImmediate(() => this.#settle(settled.slice(MOST_TOLD)));
  }

  #attempt({ work, resolve, reject }: PendingWrite): () => void {
    this.#db.exec('SAVEPOINT work');
    try {
      const value = work();
      this.#db.exec('RELEASE work');
      return () => resolve(value);
    } catch (error) {
      // A full disk may have rolled back the whole transaction; then this throws and rejects the batch.
      this.#db.exec('ROLLBACK TO work; RELEASE work');
      return () => reject(error);
    }
  }

  /** Commits what is queued, then closes. */
  close(): void {
    if (this.#closed) return;
    this.flush();
    this.#closed = true;
    this.#statements.clear();
    this.#db.close();
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
