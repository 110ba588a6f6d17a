import { closeSync, existsSync, openSync } from 'node:fs';
import { hostname } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { AppError, errorMessage } from '../util/errors.ts';

/** A process that owns a home. */
export interface LockHolder {
  readonly pid: number;
  readonly hostname: string;
  /** When it started, milliseconds since 1970. */
  readonly since: number;
}

const ATTEMPTS = 10;
const SQLITE_BUSY = 5;
const sqliteErrorSchema = z.object({ errcode: z.number() });
const holderSchema = z.object({ pid: z.number(), hostname: z.string(), since: z.number() });

/**
 * Makes this process the only owner of a home until it is disposed of or the process ends, however it ends.
 *
 * The file is a small SQLite database with one row that names the holder; the lock itself is an open write
 * transaction, which the kernel drops with the process, so neither `kill -9` nor a reused process id leave it behind.
 * While it is held the file must not be opened and closed by other means in this process: that would drop the lock.
 * Throws `home-locked` naming the holder, or `lock-unusable`.
 */
export function acquireHomeLock(
  path: string,
  owner: { readonly pid: number; /** Milliseconds since 1970. */ readonly startedAt: number },
): Disposable {
  const self: LockHolder = { pid: owner.pid, hostname: hostname(), since: owner.startedAt };
  const db = openLock(path);
  try {
    let state = tryHold(db, self);
    for (let attempt = 1; state === 'contended' && attempt < ATTEMPTS; attempt += 1) state = tryHold(db, self);
    if (state === 'held') return { [Symbol.dispose]: () => db.close() };
    throw lockedError(path, readRow(db));
  } catch (error) {
    db.close();
    if (error instanceof AppError) throw error;
    throw unusableError(path, error);
  }
}

/** Who holds the lock now; undefined when nobody does. */
export function readHolder(path: string): LockHolder | undefined {
  if (!existsSync(path)) return undefined;
  const db = openLock(path);
  try {
    if (!begin(db)) return readRow(db);
    db.exec('ROLLBACK');
    return undefined;
  } catch (error) {
    throw unusableError(path, error);
  } finally {
    db.close();
  }
}

/**
 * Names itself and commits, so that others can read it, then takes the lock for good. Between the two another
 * process may do the same: whoever holds the lock under somebody else's name lets go and starts over.
 */
function tryHold(db: DatabaseSync, self: LockHolder): 'held' | 'busy' | 'contended' {
  if (!begin(db)) return 'busy';
  db.exec(
    'CREATE TABLE IF NOT EXISTS holder (id INTEGER PRIMARY KEY CHECK (id = 1), pid INTEGER, hostname TEXT, since INTEGER)',
  );
  db.prepare('INSERT OR REPLACE INTO holder (id, pid, hostname, since) VALUES (1, ?, ?, ?)').run(
    self.pid,
    self.hostname,
    self.since,
  );
  db.exec('COMMIT');
  if (!begin(db)) return 'busy';
  const named = readRow(db);
  if (named?.pid === self.pid && named.hostname === self.hostname && named.since === self.since) return 'held';
  db.exec('ROLLBACK');
  return 'contended';
}

function begin(db: DatabaseSync): boolean {
  try {
    db.exec('BEGIN IMMEDIATE');
    return true;
  } catch (error) {
    const code = sqliteErrorSchema.safeParse(error).data?.errcode ?? 0;
    if ((code & 0xff) === SQLITE_BUSY) return false;
    throw error;
  }
}

function readRow(db: DatabaseSync): LockHolder | undefined {
  const known = db.prepare("SELECT 1 FROM sqlite_master WHERE name = 'holder'").get();
  if (known === undefined) return undefined;
  return holderSchema.safeParse(db.prepare('SELECT pid, hostname, since FROM holder WHERE id = 1').get()).data;
}

function openLock(path: string): DatabaseSync {
  try {
    // SQLite would create it readable for others.
    if (!existsSync(path)) closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!existsSync(path)) throw unusableError(path, error);
  }
  try {
    return new DatabaseSync(path, { timeout: 100 });
  } catch (error) {
    throw unusableError(path, error);
  }
}

function lockedError(path: string, holder: LockHolder | undefined): AppError {
  const who = holder === undefined ? 'another process' : describe(holder);
  return new AppError(
    'home-locked',
    `This home is in use by ${who}. Stop that process, or choose another folder with --home.`,
    { facts: { path, ...(holder === undefined ? {} : { pid: holder.pid, hostname: holder.hostname }) } },
  );
}

function describe({ pid, hostname: host, since }: LockHolder): string {
  return `process ${pid} on ${host}, running since ${new Date(since).toISOString()}`;
}

function unusableError(path: string, cause: unknown): AppError {
  return new AppError(
    'lock-unusable',
    `Could not use the lock file ${path}: ${errorMessage(cause)}. Check the folder's permissions; if no assistant is running, the file may be removed.`,
    { cause, facts: { path } },
  );
}
