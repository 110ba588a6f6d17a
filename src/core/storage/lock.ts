import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { DatabaseSync } from 'node:sqlite';
import * as z from 'zod';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import { openFilesSentence } from './open-files.ts';

/** A process that owns a home. */
export interface LockHolder {
  readonly pid: number;
  readonly hostname: string;
  /** When it started, milliseconds since 1970. */
  readonly since: number;
}

/** The lock of a home that this process has. */
export interface HomeLock extends Disposable {
  /** Takes the lock again when its file was removed or replaced. `lost`: another process has it now, so this one must end. */
  look(): 'held' | 'retaken' | 'lost';
}

const SQLITE_BUSY = 5;
const SQLITE_NOTADB = 26;
const sqliteErrorSchema = z.object({ errcode: z.number() });
const holderSchema = z.object({ pid: z.number(), hostname: z.string(), since: z.number() });

/**
 * Locks a home for this process, until the lock is disposed of or the process ends in any way. Throws `home-locked`,
 * which names the holder, or `lock-unusable`.
 *
 * The lock is an open write transaction on an SQLite file, which the kernel drops with the process, so neither `kill
 * -9` nor a reused process id leaves it behind. Locking writes nothing, so it works on a full disk; the holder is named
 * in a file beside it if that can be written. While it is held, this process must not open and close the lock file in
 * any other way: that would drop the lock.
 */
export function acquireHomeLock(
  path: string,
  owner: { readonly pid: number; /** Milliseconds since 1970. */ readonly startedAt: number },
): HomeLock {
  let db = lockedFile(path);
  let inode = inodeOf(path);
  const name = (): void => writeName(path, { pid: owner.pid, hostname: hostname(), since: owner.startedAt });
  name();
  return {
    look: () => {
      if (inodeOf(path) === inode) {
        if (readName(path)?.pid !== owner.pid) name();
        return 'held';
      }
      try {
        const taken = lockedFile(path);
        db.close();
        db = taken;
      } catch (error) {
        // The disk may be full or away: the next look tries again.
        return errorCode(error) === 'home-locked' ? 'lost' : 'held';
      }
      inode = inodeOf(path);
      name();
      return 'retaken';
    },
    [Symbol.dispose]: () => {
      if (!db.isOpen) return;
      if (inodeOf(path) === inode) removeName(path);
      db.close();
    },
  };
}

/** Throws `home-locked` when another process has it, and `lock-unusable`. */
function lockedFile(path: string): DatabaseSync {
  const db = openLock(path);
  try {
    if (!begin(db)) throw lockedError(path, readName(path));
    return db;
  } catch (error) {
    db.close();
    if (error instanceof AppError) throw error;
    throw unusableError(path, error);
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** The process that holds the lock; undefined when none does, or when its name could not be written. */
export function readHolder(path: string): LockHolder | undefined {
  if (!existsSync(path)) return undefined;
  const db = openLock(path);
  try {
    return begin(db) ? undefined : readName(path);
  } catch (error) {
    throw unusableError(path, error);
  } finally {
    db.close();
  }
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

/** The process that wrote its name last. Reads no more than the name beside the lock. */
export function readName(path: string): LockHolder | undefined {
  try {
    return holderSchema.safeParse(JSON.parse(readFileSync(nameFile(path), 'utf8'))).data;
  } catch {
    return undefined;
  }
}

/** Whether the process that wrote its name last has it still, as far as that is seen without touching the lock. */
export function isInUse(path: string): boolean {
  const name = readName(path);
  return name !== undefined && (name.hostname !== hostname() || isAlive(name.pid));
}

/** Whether there is a process of this id. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

/** Removes the name of the previous holder first: no name is better than a wrong one. */
function writeName(path: string, self: LockHolder): void {
  removeName(path);
  const partial = `${nameFile(path)}.partial`;
  try {
    writeFileSync(partial, `${JSON.stringify(self)}\n`, { mode: 0o600 });
    renameSync(partial, nameFile(path));
  } catch {
    removeFile(partial);
  }
}

function removeName(path: string): void {
  removeFile(nameFile(path));
}

function removeFile(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // On a disk that became read-only it stays; no one can take the lock there either.
  }
}

function nameFile(path: string): string {
  return `${path}.holder`;
}

function openLock(path: string): DatabaseSync {
  try {
    // SQLite would create the file readable for other users.
    if (!existsSync(path)) closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!existsSync(path)) throw unusableError(path, error);
  }
  try {
    // SQLite would open a file that is not writable read-only, and lock nothing.
    accessSync(path, constants.W_OK);
    const db = new DatabaseSync(path, { timeout: 100 });
    // In memory: the transaction begins without a journal on the disk.
    db.exec('PRAGMA journal_mode = MEMORY');
    return db;
  } catch (error) {
    throw unusableError(path, error);
  }
}

/**
 * Throws `home-locked` when the lock is not there although another process has this file of the home open: somebody removed
 * the lock. Only where the system has /proc.
 */
export function requireUnused(path: string, file: string): void {
  if (existsSync(path) || !existsSync(file)) return;
  const pid = holderOf(realpathSync(file));
  if (pid !== undefined && pid !== process.pid)
    throw lockedError(path, { pid, hostname: hostname(), since: startOf(pid) });
}

/** The process of this user that has a file open; undefined: none has, or the system does not say. */
function holderOf(file: string): number | undefined {
  const names = readNames('/proc').filter((name) => /^\d+$/u.test(name));
  const found = names.find((pid) =>
    readNames(`/proc/${pid}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`) === file;
      } catch {
        return false;
      }
    }),
  );
  return found === undefined ? undefined : Number(found);
}

function readNames(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Milliseconds since 1970. */
function startOf(pid: number): number {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.ctimeMs ?? 0;
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
  const code = sqliteErrorSchema.safeParse(cause).data?.errcode ?? 0;
  const next =
    (code & 0xff) === SQLITE_NOTADB
      ? 'It was written by another program: move it away and start again.'
      : (openFilesSentence() ?? 'Check that the disk is writable and has room, and that the folder belongs to you.');
  return new AppError('lock-unusable', `Could not use the lock file ${path}: ${errorMessage(cause)}. ${next}`, {
    cause,
    facts: { path },
  });
}
