import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage } from '../util/errors.ts';
import type { CheckpointDone, CheckpointTask } from './checkpoints.ts';

/** A reader in another process may be in the way; the next checkpoint tries again. */
const BUSY_MS = 50;

function databasePath(data: unknown): string {
  if (typeof data === 'object' && data !== null && 'path' in data && typeof data.path === 'string') return data.path;
  throw new TypeError('The checkpoint thread needs the path of a database.');
}

const db = new DatabaseSync(databasePath(workerData), { timeout: BUSY_MS });
/** Reads between the two tasks: while somebody reads the log, no commit on the event loop begins it anew. */
const reader = new DatabaseSync(databasePath(workerData), { timeout: BUSY_MS, readOnly: true });
db.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;');

/** Copies what the log holds into the file, beside writers; returns whether nothing is left in the log. */
function moveLog(): boolean {
  const row = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
  return row?.['busy'] === 0 && row['log'] === row['checkpointed'];
}

/** Writes a page as it is, which begins the log anew: SQLite syncs its new header in this thread. */
function beginLog(): void {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  db.exec(`PRAGMA user_version = ${version}`);
}

function readLog(): void {
  if (!reader.isTransaction) reader.exec('BEGIN');
  reader.prepare('PRAGMA user_version').get();
}

function checkpoint({ restart }: CheckpointTask): void {
  if (!restart) readLog();
  else if (reader.isTransaction) reader.exec('COMMIT');
  if (moveLog() && restart) beginLog();
}

parentPort?.on('message', (task: CheckpointTask) => {
  let done: CheckpointDone = task;
  try {
    checkpoint(task);
  } catch (error) {
    // The disk is full or fails, or somebody holds the log: it stays as it is, and the next one tries again.
    if (reader.isTransaction) reader.exec('ROLLBACK');
    done = { ...task, failure: errorMessage(error) };
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(done);
});
