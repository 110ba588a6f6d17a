import * as z from 'zod';
import { AppError, errorCode } from '../util/errors.ts';

/**
 * What is wrong with a disk that cannot be written; `damaged`: with the journal on it, which no waiting mends;
 * `unreachable`: with the store of a plugin that keeps the tapes too; `no-database`: with the database that keeps the home.
 */
export type StorageTrouble = 'full' | 'read-only' | 'failing' | 'damaged' | 'unreachable' | 'no-database';

/**
 * Why a write failed. `full`, `read-only`, `failing`, `unreachable` and `no-database`: the disk or a store, so the write is
 * repeated when it works again.
 * `damaged`: the journal itself, so nothing is repeated in this process.
 * `busy`: it can be repeated at once. `item`: this data can never be written. `bug`: everything else.
 */
export type FailureKind = StorageTrouble | 'busy' | 'item' | 'bug';

/** Codes of Node's file system, see errno(3). */
const BY_CODE: Readonly<Record<string, FailureKind>> = {
  ENOSPC: 'full',
  EDQUOT: 'full',
  EFBIG: 'full',
  EROFS: 'read-only',
  EACCES: 'read-only',
  EPERM: 'read-only',
  EIO: 'failing',
  EMFILE: 'failing',
  ENFILE: 'failing',
  ENOMEM: 'failing',
  ENODEV: 'failing',
  ENXIO: 'failing',
  ESTALE: 'failing',
  EAGAIN: 'busy',
  EINTR: 'busy',
  // Own codes, of `CommitSync`, `AppendFile`, `requireSpace`, `Tape`, `StoredTapes`, `Postgres` and `HomeWriter`.
  'sync-failed': 'failing',
  'write-stuck': 'full',
  'no-room': 'full',
  'tape-entry-invalid': 'item',
  'tape-store-failed': 'unreachable',
  'store-unreachable': 'no-database',
  'home-store-failed': 'no-database',
  'journal-damaged': 'damaged',
};

/** SQLite's primary result codes, see https://www.sqlite.org/rescode.html. */
const BY_SQLITE: Readonly<Record<number, FailureKind>> = {
  5: 'busy',
  6: 'busy',
  7: 'failing',
  8: 'read-only',
  10: 'failing',
  11: 'damaged',
  13: 'full',
  14: 'failing',
  15: 'failing',
  18: 'item',
  19: 'item',
  20: 'item',
  26: 'damaged',
};

const sqliteErrorSchema = z.object({ code: z.literal('ERR_SQLITE_ERROR'), errcode: z.number() });

/** Whether an error comes from the disk, from the one item that is written, or from a defect of the program. */
export function classifyFailure(error: unknown): FailureKind {
  const sqlite = sqliteErrorSchema.safeParse(error);
  if (sqlite.success) return BY_SQLITE[sqlite.data.errcode & 0xff] ?? 'bug';
  if (error instanceof AppError && error.cause !== undefined) {
    const kind = classifyFailure(error.cause);
    if (isStorageTrouble(kind) || !(error.code in BY_CODE)) return kind;
  }
  return BY_CODE[errorCode(error) ?? ''] ?? 'bug';
}

/** SQLITE_CORRUPT, SQLITE_NOTADB, and of SQLITE_IOERR: READ, SHORT_READ and CORRUPTFS. */
const DAMAGE = new Set([11, 26, 10 | (1 << 8), 10 | (2 << 8), 10 | (33 << 8)]);

/**
 * True if an error may mean a damaged database, which a new one would replace; false if the disk refuses writes or is
 * busy.
 */
export function mayBeDamage(error: unknown): boolean {
  const sqlite = sqliteErrorSchema.safeParse(error);
  if (sqlite.success && (DAMAGE.has(sqlite.data.errcode) || DAMAGE.has(sqlite.data.errcode & 0xff))) return true;
  const kind = classifyFailure(error);
  return kind === 'bug' || kind === 'item';
}

export function isStorageTrouble(kind: FailureKind): kind is StorageTrouble {
  return kind !== 'busy' && kind !== 'item' && kind !== 'bug';
}
