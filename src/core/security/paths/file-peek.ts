import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir } from 'node:fs/promises';

/** Larger files are identified by inode, size and times instead of a digest, bytes. */
const MOST_HASHED_BYTES = 16 * 1024 * 1024;

/** Reads names and digests of real files, never their content. Links are followed. */
export const filePeek = {
  names: (folder: string): Promise<readonly string[]> => readdir(folder).catch(() => []),
  look: async (path: string): Promise<string | null> => {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
    if (handle === null) return null;
    try {
      const stat = await handle.stat({ bigint: true });
      if (stat.isDirectory()) return 'folder';
      if (!stat.isFile()) return null;
      if (stat.size > MOST_HASHED_BYTES)
        return `large ${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
      return createHash('sha256')
        .update(await handle.readFile())
        .digest('hex');
    } finally {
      await handle.close();
    }
  },
};
