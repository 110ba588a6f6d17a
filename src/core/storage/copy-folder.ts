import { constants, copyFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ensureDirectory } from './files.ts';

export interface CopyLimits {
  readonly files: number;
  /** Bytes of all files. */
  readonly bytes: number;
  /** Names of folders that are left out wherever they stand. */
  readonly without: ReadonlySet<string>;
}

/**
 * Copies a folder without syncing, for a copy that no one keeps; blocks are shared if the file system supports it. Leaves
 * out links, devices, what cannot be read, and what is beyond the limits. Returns the number of files left out.
 */
export async function copyFolder(from: string, to: string, limits: CopyLimits): Promise<number> {
  let [files, bytes, left] = [limits.files, limits.bytes, 0];
  const visit = async (path: string): Promise<void> => {
    await ensureDirectory(join(to, path));
    for (const entry of await readdir(join(from, path), { withFileTypes: true }).catch(() => [])) {
      const inside = join(path, entry.name);
      if (entry.isDirectory() && !limits.without.has(entry.name)) await visit(inside);
      if (!entry.isFile()) continue;
      const { size } = await stat(join(from, inside)).catch(() => ({ size: Infinity }));
      const isCopied =
        files > 0 &&
        size <= bytes &&
        (await copyFile(join(from, inside), join(to, inside), constants.COPYFILE_FICLONE).then(
          () => true,
          () => false,
        ));
      if (!isCopied) {
        left += 1;
        continue;
      }
      files -= 1;
      bytes -= size;
    }
  };
  await visit('');
  return left;
}
