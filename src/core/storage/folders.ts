import { chmod, lstat, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AppError, errorCode } from '../util/errors.ts';
import { ensureDirectory, replaceDurable, syncDirectory } from './files.ts';

export interface FolderFile {
  /** Relative to the folder, with slashes; must not leave it. */
  readonly path: string;
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/**
 * Creates a folder with these files in one step: they are written and synced under a hidden name beside it, which is
 * then renamed. If the name is taken, `replace` removes what was there; without it `exists` is thrown. If anything
 * fails, what was there stays.
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
      // The umask of the process may have removed some bits.
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

/** Removes a folder: its name in one step, then its content. Of a link only the link is removed, not its target. */
export async function removeFolder(path: string): Promise<void> {
  const old = hidden(path, 'old');
  await rm(old, { recursive: true, force: true });
  await rename(path, old);
  await syncDirectory(dirname(path));
  await rm(old, { recursive: true, force: true });
}

/** Renames `fresh` to `path`, replacing what is there; if that fails, the old folder is put back. */
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
  throw new AppError('exists', `${path} exists already.`, { facts: { path } });
}

/** One fixed name for each folder and purpose, so that the next attempt removes what a crashed process left. */
function hidden(path: string, purpose: 'new' | 'old'): string {
  return join(dirname(path), `.${basename(path)}.${purpose}`);
}
