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

interface Connections {
  readonly db: DatabaseSync;
  /** Holds a read transaction between the two tasks: while the log has a reader, no commit of the writer restarts it. */
  readonly reader: DatabaseSync;
}

let opened: Connections | undefined;

/** Opened by the first task, so that a file that can't be opened is told as damage too. */
function open(): Connections {
  if (opened !== undefined) return opened;
  const db = new DatabaseSync(databasePath(workerData), { timeout: BUSY_MS });
  const reader = new DatabaseSync(databasePath(workerData), { timeout: BUSY_MS, readOnly: true });
  db.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0;');
  return (opened = { db, reader });
}

/** Copies the log into the database file while others may write; returns whether all of it was copied. */
function moveLog({ db }: Connections): boolean {
  const row = db.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
  return row?.['busy'] === 0 && row['log'] === row['checkpointed'];
}

/** Commits an unchanged page, which restarts the log, so that SQLite syncs the log's new header in this thread. */
function restartLog({ db }: Connections): void {
  const version = Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
  db.exec(`PRAGMA user_version = ${version}`);
}

function readLog({ reader }: Connections): void {
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
  const both = open();
  if (!restart) readLog(both);
  else if (both.reader.isTransaction) both.reader.exec('COMMIT');
  if (moveLog(both) && restart) restartLog(both);
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
    if (opened?.reader.isTransaction === true) opened.reader.exec('ROLLBACK');
    const isDamage = classifyFailure(error) === 'damaged';
    done = { ...task, [isDamage ? 'damage' : 'failure']: errorMessage(error) };
  }
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(done);
});
