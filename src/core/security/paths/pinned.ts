import {
  closeSync,
  constants,
  fstat,
  fstatSync,
  lstat,
  lstatSync,
  open,
  openSync,
  readlink,
  readlinkSync,
  realpath,
  realpathSync,
  type Stats,
} from 'node:fs';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';
import { AppError, errorCode } from '../../util/errors.ts';

/** The system calls of an opening: asynchronous, or synchronous in a thread of their own. */
export interface FileCalls {
  readonly open: (path: string, flags: number) => number | Promise<number>;
  readonly fstat: (fd: number) => Stats | Promise<Stats>;
  readonly lstat: (path: string) => Stats | Promise<Stats>;
  readonly readlink: (path: string) => string | Promise<string>;
  readonly realpath: (path: string) => string | Promise<string>;
}

export const CALLS = {
  open: promisify(open),
  fstat: promisify(fstat),
  lstat: promisify(lstat),
  readlink: promisify(readlink),
  realpath: promisify(realpath.native),
} satisfies FileCalls;

/** For worker threads. */
export const SYNC_CALLS: FileCalls = {
  open: openSync,
  fstat: fstatSync,
  lstat: lstatSync,
  readlink: readlinkSync,
  realpath: realpathSync.native,
};

const LINUX = process.platform === 'linux';
/** Linux: opens a descriptor that only names a file, which never blocks and never touches a device. */
const O_PATH = 0o10000000;
/** Linux appends this to the path of a removed file. */
const GONE = ' (deleted)';
const TRIES = 5;

/** An opened file or folder. What it refers to no longer depends on its path. Disposing closes it. */
export interface Pinned extends Disposable {
  /** The real path of the descriptor. */
  readonly path: string;
  readonly stat: Stats;
  /** A path that opens this very file, even if its name leads elsewhere now. */
  readonly self: string;
  /** A path for an entry of this folder, even if the folder's name leads elsewhere now. */
  at(name: string): string;
}

/**
 * Opens a path and reads from the descriptor what was opened, because a path can be swapped between a check and its use.
 * `noFollow` refuses a link at the end of the path. Throws what `open` throws, or `path-refused`.
 *
 * Linux uses `/proc/self/fd`. Elsewhere the real path is opened without following a link at its end and compared with the
 * `stat` from before. That is weaker, because a parent folder that is swapped in between goes unnoticed.
 */
export async function pin(
  path: string,
  { noFollow = false, calls = CALLS }: { readonly noFollow?: boolean; readonly calls?: FileCalls } = {},
): Promise<Pinned> {
  for (let tries = 1; ; tries += 1) {
    const pinned = LINUX ? await pinByDescriptor(path, noFollow, calls) : await pinByName(path, noFollow, calls);
    // Its name was removed meanwhile. It may have other names anywhere, so its place cannot be judged.
    if (!pinned.path.endsWith(GONE)) return pinned;
    pinned[Symbol.dispose]();
    if (tries === TRIES) throw refused(`${path} keeps changing, or is named "…${GONE}".`);
  }
}

async function pinByDescriptor(path: string, noFollow: boolean, calls: FileCalls): Promise<Pinned> {
  const fd = await calls.open(path, O_PATH | (noFollow ? constants.O_NOFOLLOW : 0));
  const self = `/proc/self/fd/${fd}`;
  try {
    const stat = await calls.fstat(fd);
    const real = await calls.readlink(self);
    // Without a path (an anonymous pipe, a file outside this root) there is nothing to judge.
    if (!isAbsolute(real)) throw refused(`${path} is not a file in a folder.`);
    return pinnedOf({ fd, path: real, stat, self });
  } catch (error) {
    closeSync(fd);
    if (errorCode(error) !== 'ENOENT') throw error;
    throw refused('Files cannot be opened safely here, because /proc is not readable.');
  }
}

async function pinByName(path: string, noFollow: boolean, calls: FileCalls): Promise<Pinned> {
  const real = noFollow ? join(await calls.realpath(dirname(path)), basename(path)) : await calls.realpath(path);
  const before = await calls.lstat(real);
  // Opening a device or a pipe could block or have an effect.
  if (!before.isFile() && !before.isDirectory()) return pinnedOf({ fd: null, path: real, stat: before, self: real });
  const fd = await calls.open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const stat = await calls.fstat(fd);
  if (isSameInode(stat, before)) return pinnedOf({ fd, path: real, stat, self: real });
  closeSync(fd);
  throw refused(`${path} changed while it was being opened; try again.`);
}

function pinnedOf({ fd, ...facts }: Pick<Pinned, 'path' | 'stat' | 'self'> & { readonly fd: number | null }): Pinned {
  let left = fd;
  return {
    ...facts,
    at: (name) => join(facts.self, name),
    [Symbol.dispose]: () => {
      if (left !== null) closeSync(left);
      left = null;
    },
  };
}

/** Whether two names lead to one file; an inode number is unique only on its disk. */
function isSameInode(a: Pick<Stats, 'ino' | 'dev'>, b: Pick<Stats, 'ino' | 'dev'>): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

/** Whether two stats are of the same unchanged file, by inode, size and times; null: there is none. */
export function isSameFile(a: Stats | null, b: Stats | null): boolean {
  if (a === null || b === null) return a === b;
  return isSameInode(a, b) && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs;
}

/** A refusal, with one sentence for the model. */
export function refused(message: string): AppError {
  return new AppError('path-refused', message);
}

/** The refusal to write over what somebody else wrote meanwhile. */
export function changedSince(path: string): AppError {
  return refused(`${path} changed after it was read. Read it again before you change it.`);
}

const SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist.',
  ENOTDIR: 'does not exist: a part of the path is a file or a link, not a directory.',
  EISDIR: 'is a directory; a file was expected.',
  ELOOP: 'cannot be opened: its links lead in a circle.',
  EACCES: 'cannot be opened: the system does not permit it.',
  EPERM: 'cannot be opened: the system does not permit it.',
  ENAMETOOLONG: 'is too long for a path.',
  ENOSPC: 'cannot be written: the disk is full.',
  EROFS: 'cannot be written: the disk is read-only.',
};

/** An error of the file system as one sentence about the path as the model wrote it; an `AppError` stays as it is. */
export function fileError(error: unknown, path: string): AppError {
  if (error instanceof AppError) return error;
  const code = errorCode(error) ?? 'unknown error';
  return new AppError('path-failed', `${path} ${SENTENCES[code] ?? `cannot be opened (${code}).`}`, {
    cause: error,
    facts: { code },
  });
}
