import { openAppend, type OpenAppend } from './append-file.ts';
import { ensureDirectory, replaceDurable, truncateDurable } from './files.ts';
import { classifyFailure, isStorageTrouble } from './storage-failure.ts';
import type { StorageHealth } from './storage-health.ts';

/** How stores write their files. */
export interface Disk {
  readonly open: OpenAppend;
  readonly replace: typeof replaceDurable;
  readonly ensure: typeof ensureDirectory;
  readonly truncate: typeof truncateDurable;
}

export const plainDisk: Disk = {
  open: openAppend,
  replace: replaceDurable,
  ensure: ensureDirectory,
  truncate: truncateDurable,
};

/** The same disk; a write that it refuses makes `storage` look at it, and is thrown as it was. */
export function reportingDisk(storage: Pick<StorageHealth, 'look'>): Disk {
  const watched = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
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
        write: (bytes) => watched(handle.write(bytes)),
        datasync: () => watched(handle.datasync()),
        truncate: (size) => watched(handle.truncate(size)),
      };
    },
    replace: (path, data, options) => watched(replaceDurable(path, data, options)),
    ensure: (path) => watched(ensureDirectory(path)),
    truncate: (path, size) => watched(truncateDurable(path, size)),
  };
}
