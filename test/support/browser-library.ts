import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { libraryFolder } from '../../src/extensions/browser/program.ts';

/** What the tool `browser` needs, as `assistant tools install browser` puts it into a home. */
export async function putLibrary(home: string): Promise<void> {
  const folder = libraryFolder(join(home, 'browser'));
  await mkdir(dirname(folder), { recursive: true });
  await symlink(dirname(fileURLToPath(import.meta.resolve('playwright-core'))), folder);
}
