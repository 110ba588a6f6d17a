import { constants, type Stats } from 'node:fs';
import { lstat, open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { AppError, errorCode } from '../../util/errors.ts';

const LINUX = process.platform === 'linux';
/** Linux: a descriptor that only names a file: opening it never blocks and never touches a device. */
const O_PATH = 0o10000000;
const TRIES = 5;
/** What Linux puts behind a name that was taken away. */
const GONE = ' (deleted)';

/** Something that was opened by a path and cannot be swapped any more. Disposing closes it. */
export interface Pinned extends AsyncDisposable {
  /** Where the descriptor really leads. */
  readonly path: string;
  readonly stat: Stats;
  /** A path that leads to the very same file, whatever its name leads to now. */
  readonly self: string;
  /** A path for an entry of this directory, whatever the directory's own path leads to now. */
  at(name: string): string;
}

/**
 * Opens first and finds out afterwards, from the descriptor, what was opened: between a check of a path and its use
 * the path could be swapped. `noFollow` refuses a link at the end of the path. Throws what `open` throws.
 * Linux uses `/proc/self/fd`. Elsewhere the real path is opened without following a link at its end and compared with
 * what lies there; a parent directory swapped in between goes unnoticed, so that is weaker.
 */
export async function pin(path: string, options: { noFollow?: boolean } = {}): Promise<Pinned> {
  for (let tries = 1; ; tries += 1) {
    const pinned = LINUX ? await pinByDescriptor(path, options) : await pinByName(path, options);
    // The name it was opened by is gone. It may have others, anywhere, so nothing can be said about where it lies.
    if (!pinned.path.endsWith(GONE)) return pinned;
    await pinned[Symbol.asyncDispose]();
    if (tries === TRIES) throw new AppError('path-refused', `${path} keeps changing, or is named "…${GONE}".`);
  }
}

async function pinByDescriptor(path: string, { noFollow }: { noFollow?: boolean }): Promise<Pinned> {
  const handle = await open(path, O_PATH | (noFollow === true ? constants.O_NOFOLLOW : 0));
  return await describe(handle, async () => {
    const self = `/proc/self/fd/${handle.fd}`;
    // In this order: while the name is there afterwards, it was one of those that were counted.
    const stat = await handle.stat();
    const real = await readlink(self);
    // What has no place (an anonymous pipe, something outside this root) cannot be judged by it.
    if (!isAbsolute(real)) throw new AppError('path-refused', `${path} is nothing that lies in a folder.`);
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
