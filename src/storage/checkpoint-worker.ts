import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage } from '../util/errors.ts';
import { classifyFailure } from './storage-failure.ts';
import type { CheckpointDone, CheckpointTask } from './checkpoints.ts';

/** How long a checkpoint waits for a reader in another process, ms; after that the next checkpoint tries again. */
const BUSY_MS = 50;

function databasePath(data: unknown): string {
  if (typeof data === 'object' && data !== null && 'path' in data && typeof data.path === 'string') return data.path;
  throw new TypeError('The checkpoint thread needs the path of a database.');
}

const db = new DatabaseSync(databasePath(workerData), { timeout: BUSY_MS });
/** Holds a read transaction between the two tasks: while the log has a reader, no commit of the writer restarts it. */
const reader = new DatabaseSync(databasePath(workerData), { timeout: BUSY_MS, readOnly: true });
db.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;');

/** Copies the log into the database file while others may write; returns whether all of it was copied. */
function moveLog(): boolean {
  const row = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
  return row?.['busy'] === 0 && row['log'] === row['checkpointed'];
}

/** Commits an unchanged page, which restarts the log, so that SQLite syncs the log's new header in this thread. */
function restartLog(): void {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  db.exec(`PRAGMA user_version = ${version}`);
}

function readLog(): void {
  if (!reader.isTransaction) reader.exec('BEGIN');
  reader.prepare('PRAGMA user_version').get();
}

/** What is wrong with the file; undefined: it is sound. A connection of its own has nothing of it in memory. */
function damageOfFile(): string | undefined {
  const fresh = new DatabaseSync(databasePath(workerData), { timeout: BUSY_MS, readOnly: true });
  try {
    const said = fresh.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
    return said === 'ok' ? undefined : String(said);
  } catch (error) {
    if (classifyFailure(error) !== 'damaged') throw error;
    return errorMessage(error);
  } finally {
    fresh.close();
  }
}

function checkpoint({ restart }: CheckpointTask): void {
  if (!restart) readLog();
  else if (reader.isTransaction) reader.exec('COMMIT');
  if (moveLog() && restart) restartLog();
}

parentPort?.on('message', (task: CheckpointTask) => {
  let done: CheckpointDone = task;
  try {
    if (task.read === true) {
      const damage = damageOfFile();
      done = { ...task, ...(damage === undefined ? {} : { damage }) };
    } else {
      checkpoint(task);
    }
  } catch (error) {
    // The disk is full or fails, or the log is in use: it stays as it is, and the next checkpoint tries again.
    if (reader.isTransaction) reader.exec('ROLLBACK');
    done = { ...task, failure: errorMessage(error) };
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(done);
});
