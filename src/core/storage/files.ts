import { constants, copyFile, mkdir, open, readdir, readFile, rename, rm, statfs, truncate } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { megabytes } from '../util/text.ts';
import { AppError, errorCode } from '../util/errors.ts';

/**
 * How safe a write is when it resolves. `durable`: it survives a power loss. `lazy`: it survives the end of the
 * process, and the next durable write to the same store covers it.
 */
export type Durability = 'durable' | 'lazy';

/**
 * How safe an append is when it resolves. `with-journal`: as a durable one, but where one database keeps the file and the journal, it
 * may become so with the next durable write to the journal.
 */
export type AppendDurability = Durability | 'with-journal';

/** Makes the entries of a folder durable: files created, renamed or removed in it stay so after a power loss. */
export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates a folder and its missing parents with mode 0700, durably; an existing folder is left as it is. */
export async function ensureDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
  if (first !== undefined) await syncDirectory(dirname(first));
}

let temporaries = 0;

/**
 * Creates or replaces a file atomically: readers see either the old or the new content, and when this resolves the new
 * content survives a power loss. If writing fails, for example on a full disk, the old file is untouched.
 */
export async function replaceDurable(
  path: string,
  data: string | Uint8Array,
  options: ReplaceOptions = {},
): Promise<void> {
  await replace(path, data, { ...options, durability: 'durable' });
  await syncDirectory(dirname(path));
}

/** Like `replaceDurable`, but after a power loss the file may have the old content, or none. */
export async function replaceLazy(
  path: string,
  data: string | Uint8Array,
  options: ReplaceOptions = {},
): Promise<void> {
  await replace(path, data, { ...options, durability: 'lazy' });
}

export interface ReplaceOptions {
  /** @default 0o600 */
  readonly mode?: number;
}

async function replace(
  path: string,
  data: string | Uint8Array,
  { mode = 0o600, durability }: ReplaceOptions & { readonly durability: Durability },
): Promise<void> {
  const nextName = (): string => {
    temporaries += 1;
    return join(dirname(path), `.${basename(path)}.${process.pid}.${temporaries}.tmp`);
  };
  const temporary = await writeNew(data, nextName, { mode, durability });
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/**
 * Stores damaged data in `directory` (created if missing) as `name`, or as `name.1`, `name.2` … if that file holds
 * other bytes; never overwrites. The same bytes under the same name are stored once. Returns the path.
 */
export async function quarantine(directory: string, name: string, bytes: Uint8Array): Promise<string> {
  await ensureDirectory(directory);
  for (let n = 0; ; n += 1) {
    const path = join(directory, n === 0 ? name : `${name}.${n}`);
    const kept = await ifThere(readFile(path));
    if (kept?.equals(bytes) === true) return path;
    if (kept !== undefined) continue;
    await writeNew(bytes, () => path, { mode: 0o600, durability: 'durable' });
    await syncDirectory(directory);
    return path;
  }
}

/** Copies a file durably, with mode 0600; blocks are shared if the file system supports it. */
export async function copyDurable(existing: string, path: string): Promise<void> {
  await copyFile(existing, path, constants.COPYFILE_FICLONE);
  const handle = await open(path, 'r+');
  try {
    await handle.chmod(0o600);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await syncDirectory(dirname(path));
}

/** Writes, syncs and removes a file of 64 KiB. Rejects if that fails or less than `neededBytes` are free. */
export async function probeDisk(path: string, neededBytes = 0): Promise<void> {
  await requireSpace(dirname(path), neededBytes);
  try {
    await replaceDurable(path, new Uint8Array(64 * 1024));
  } finally {
    await rm(path, { force: true });
  }
}

/** Rejects with `no-room` when the disk of a folder has fewer free bytes than this for users other than root. */
export async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  if (free >= bytes) return;
  throw new AppError('no-room', `${folder} has room for ${megabytes(free)}, and ${megabytes(bytes)} are needed`, {
    facts: { folder, needsBytes: bytes },
  });
}

/** Cuts a file to `size` bytes; durable when it resolves. */
export async function truncateDurable(path: string, size: number): Promise<void> {
  await truncate(path, size);
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** The text of a file (UTF-8), or undefined when there is none. */
export async function readIfExists(path: string): Promise<string | undefined> {
  return (await ifThere(readFile(path)))?.toString('utf8');
}

/** The names in a folder, in no particular order; empty when there is no folder. */
export async function namesIn(folder: string): Promise<readonly string[]> {
  return (await ifThere(readdir(folder))) ?? [];
}

/** Resolves with the same value; undefined if there is no such file or folder (`ENOENT`, `ENOTDIR`). */
export async function ifThere<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Like `ifThere`, on the calling thread. */
export function ifThereSync<T>(find: () => T): T | undefined {
  try {
    return find();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const isMissing = (error: unknown): boolean => ['ENOENT', 'ENOTDIR'].includes(errorCode(error) ?? '');

/** Writes a new file, trying names until one is free; removes it if writing fails. A durable one is synced. */
async function writeNew(
  data: string | Uint8Array,
  nextName: () => string,
  { mode, durability }: { readonly mode: number; readonly durability: Durability },
): Promise<string> {
  for (let tries = 0; ; tries += 1) {
    const path = nextName();
    let handle;
    try {
      handle = await open(path, 'wx', mode);
    } catch (error) {
      // A crashed process may have left its temporary file, and process ids repeat in containers.
      if (errorCode(error) === 'EEXIST' && tries < 100) continue;
      throw error;
    }
    try {
      await handle.writeFile(data);
      if (durability === 'durable') await handle.sync();
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    } finally {
      await handle.close();
    }
    return path;
  }
}
