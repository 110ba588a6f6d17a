import { constants, type Stats } from 'node:fs';
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { AppError, errorCode } from '../../util/errors.ts';

const LINUX = process.platform === 'linux';
/** Linux: opens a descriptor that only names a file, which never blocks and never touches a device. */
const O_PATH = 0o10000000;
const TRIES = 5;
/** Linux appends this to the path of a removed file. */
const GONE = ' (deleted)';

/** An opened file or directory: what it refers to no longer depends on its path. Disposing closes it. */
export interface Pinned extends AsyncDisposable {
  /** The real path of the descriptor. */
  readonly path: string;
  readonly stat: Stats;
  /** A path that opens this very file, even if its name leads elsewhere now. */
  readonly self: string;
  /** A path for an entry of this directory, even if the directory's name leads elsewhere now. */
  at(name: string): string;
}

/**
 * Opens a path first and reads from the descriptor what was opened, because a path can be swapped between a check and
 * its use. `noFollow` refuses a link at the end of the path. Throws what `open` throws, or `path-refused`.
 *
 * Linux uses `/proc/self/fd`. Elsewhere the real path is opened without following a link at its end, and compared with
 * the
 * `stat` of before; that is weaker, because a parent directory swapped in between goes unnoticed.
 */
export async function pin(path: string, options: { noFollow?: boolean } = {}): Promise<Pinned> {
  for (let tries = 1; ; tries += 1) {
    const pinned = LINUX ? await pinByDescriptor(path, options) : await pinByName(path, options);
    // Its name was removed meanwhile. It may have other names anywhere, so its place cannot be judged.
    if (!pinned.path.endsWith(GONE)) return pinned;
    await pinned[Symbol.asyncDispose]();
    if (tries === TRIES) throw new AppError('path-refused', `${path} keeps changing, or is named "…${GONE}".`);
  }
}

async function pinByDescriptor(path: string, { noFollow }: { noFollow?: boolean }): Promise<Pinned> {
  const handle = await open(path, O_PATH | (noFollow === true ? constants.O_NOFOLLOW : 0));
  return await describe(handle, async () => {
    const self = `/proc/self/fd/${handle.fd}`;
    // In this order: if the name still exists afterwards, it was among the hard links that `stat` counted.
    const stat = await handle.stat();
    const real = await readlink(self);
    // Without a path (an anonymous pipe, a file outside this root) there is nothing to judge.
    if (!isAbsolute(real)) throw new AppError('path-refused', `${path} is not a file in a folder.`);
    return { path: real, stat, self, at: (name) => `${self}/${name}` };
  });
}

async function pinByName(path: string, { noFollow }: { noFollow?: boolean }): Promise<Pinned> {
  const real = noFollow === true ? join(await realpath(dirname(path)), basename(path)) : await realpath(path);
  const before = await lstat(real);
  if (!before.isFile() && !before.isDirectory()) {
    return {
      path: real,
      stat: before,
      self: real,
      at: (name) => join(real, name),
      [Symbol.asyncDispose]: async () => {},
    };
  }
  const handle = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  return await describe(handle, async () => {
    const stat = await handle.stat();
    if (!sameInode(stat, before) || stat.nlink !== before.nlink) {
      throw new AppError('path-refused', `${path} changed while it was being opened; try again.`);
    }
    return { path: real, stat, self: real, at: (name) => join(real, name) };
  });
}

/** Whether two names lead to one file; a number of a file is its own only on its disk. */
export function sameInode(a: Pick<Stats, 'ino' | 'dev'>, b: Pick<Stats, 'ino' | 'dev'>): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

async function describe(
  handle: FileHandle,
  facts: () => Promise<Omit<Pinned, typeof Symbol.asyncDispose>>,
): Promise<Pinned> {
  try {
    return { ...(await facts()), [Symbol.asyncDispose]: () => handle.close() };
  } catch (error) {
    await handle.close();
    if (LINUX && errorCode(error) === 'ENOENT') {
      throw new AppError('path-refused', 'Files cannot be opened safely here, because /proc is not readable.', {
        cause: error,
      });
    }
    throw error;
  }
}
