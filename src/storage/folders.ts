import { chmod, lstat, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError, errorCode } from '../util/errors.ts';
import { ensureDirectory, replaceDurable, syncDirectory } from './files.ts';

export interface FolderFile {
  /** Relative to the folder, with slashes, and inside of it. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/**
 * Makes a folder with these files in one step: everything is written and synced beside it under a hidden name, which
 * is then renamed. What has the name already is kept and `exists` thrown, unless `replace`: then it is gone afterwards.
 * A failure leaves what was there.
 */
export async function putFolder(
  path: string,
  files: readonly FolderFile[],
  options: { readonly replace: boolean },
): Promise<void> {
  const parent = dirname(path);
  if (!options.replace) await refuseExisting(path);
  await ensureDirectory(parent);
  const fresh = hidden(path, 'new');
  await rm(fresh, { recursive: true, force: true });
  try {
    await ensureDirectory(fresh);
    for (const file of files) {
      const target = join(fresh, ...file.path.split('/'));
      await ensureDirectory(dirname(target));
      await replaceDurable(target, file.bytes, { mode: file.mode });
      // The process's mask may have taken some of it away.
      await chmod(target, file.mode);
    }
    if (options.replace) await swap(fresh, path);
    else {
      await refuseExisting(path);
      await rename(fresh, path);
    }
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    throw error;
  }
  await syncDirectory(parent);
}

/** Takes a folder with all that is in it away: at once by its name, then its content. A link goes, not its target. */
export async function removeFolder(path: string): Promise<void> {
  const old = hidden(path, 'old');
  await rm(old, { recursive: true, force: true });
  await rename(path, old);
  await syncDirectory(dirname(path));
  await rm(old, { recursive: true, force: true });
}

/** Puts `fresh` where `path` is; should that fail, what was there is back. */
async function swap(fresh: string, path: string): Promise<void> {
  const old = hidden(path, 'old');
  await rm(old, { recursive: true, force: true });
  const isThere = await rename(path, old).then(
    () => true,
    (error: unknown) => {
      if (errorCode(error) === 'ENOENT') return false;
      throw error;
    },
  );
  try {
    await rename(fresh, path);
  } catch (error) {
    if (isThere) await rename(old, path);
    throw error;
  }
  await rm(old, { recursive: true, force: true });
}

async function refuseExisting(path: string): Promise<void> {
  try {
    await lstat(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return;
    throw error;
  }
  throw new AppError('exists', `There is something at ${path} already.`, { facts: { path } });
}

/** One name per folder and purpose, so that what a process that died left behind goes with the next try. */
function hidden(path: string, purpose: 'new' | 'old'): string {
  return join(dirname(path), `.${basename(path)}.${purpose}`);
}
