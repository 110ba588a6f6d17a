import { rm } from 'node:fs/promises';
import { openAppend, type OpenAppend } from './append-file.ts';
import { ensureDirectory, replaceDurable, truncateDurable } from './files.ts';
import { classifyFailure, isStorageTrouble } from './storage-failure.ts';
import type { StorageHealth } from './storage-health.ts';

/** The functions by which stores write their files; see `reportingDisk`. */
export interface Disk {
  readonly open: OpenAppend;
  readonly replace: typeof replaceDurable;
  readonly ensure: typeof ensureDirectory;
  readonly truncate: typeof truncateDurable;
  readonly remove: (path: string) => Promise<void>;
}

/** The real disk, without reporting its failures. */
export const plainDisk: Disk = {
  open: openAppend,
  replace: replaceDurable,
  ensure: ensureDirectory,
  truncate: truncateDurable,
  remove,
};

/**
 * The real disk, which tells `storage` of the files that were written; after a failed write `storage` probes the disk. The error
 * is thrown unchanged.
 */
export function reportingDisk(storage: Pick<StorageHealth, 'look'> & Partial<Pick<StorageHealth, 'wrote'>>): Disk {
  const watched = async <T>(work: Promise<T>, path?: string): Promise<T> => {
    try {
      const result = await work;
      if (path !== undefined) storage.wrote?.(path);
      return result;
    } catch (error) {
      if (isStorageTrouble(classifyFailure(error))) void storage.look();
      throw error;
    }
  };
  return {
    open: async (path) => {
      const handle = await watched(openAppend(path));
      return {
        ...handle,
        write: (bytes) => watched(handle.write(bytes), path),
        datasync: () => watched(handle.datasync()),
        truncate: (size) => watched(handle.truncate(size), path),
      };
    },
    replace: (path, data, options) => watched(replaceDurable(path, data, options), path),
    ensure: (path) => watched(ensureDirectory(path)),
    truncate: (path, size) => watched(truncateDurable(path, size), path),
    remove: (path) => watched(remove(path), path),
  };
}

function remove(path: string): Promise<void> {
  return rm(path, { force: true });
}
