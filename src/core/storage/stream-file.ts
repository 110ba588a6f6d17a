import { link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError, errorCode } from '../util/errors.ts';
import { ensureDirectory, syncDirectory } from './files.ts';

/**
 * Writes a new file of any size, mode 0600, from pieces as they come. The name appears when all of it survives a power
 * loss. Throws `exists`, without writing, when there is something at the path; on any failure nothing is left behind.
 * Returns the bytes written.
 */
export async function streamToNewFile(path: string, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  const partial = join(dirname(path), `.${basename(path)}.${process.pid}.tmp`);
  await rm(partial, { force: true });
  let size = 0;
  try {
    const handle = await open(partial, 'wx', 0o600);
    try {
      for await (const piece of pieces) {
        await handle.writeFile(piece);
        size += piece.length;
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    await giveName(partial, path);
  } finally {
    await rm(partial, { force: true });
  }
  await syncDirectory(dirname(path));
  return size;
}

/** Writes a file that no one reads yet, with its mode and time; it is durable after `syncDirectory` of its folder. */
export async function streamToFile(
  path: string,
  pieces: AsyncIterable<Uint8Array>,
  { mode, modifiedAt }: { readonly mode: number; readonly modifiedAt: Date },
): Promise<void> {
  await ensureDirectory(dirname(path));
  const handle = await open(path, 'wx', 0o600);
  try {
    for await (const piece of pieces) await handle.writeFile(piece);
    await handle.chmod(mode);
    await handle.utimes(modifiedAt, modifiedAt);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A link fails where something has the name already; file systems without links get a rename. */
async function giveName(partial: string, path: string): Promise<void> {
  try {
    await link(partial, path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') {
      throw new AppError('exists', `There is something at ${path} already. Choose another name with --out.`, {
        facts: { path },
      });
    }
    await rename(partial, path);
  }
}
