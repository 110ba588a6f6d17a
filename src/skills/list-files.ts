import { readdir } from 'node:fs/promises';
import { join } from 'node:path';

const DEEPEST = 6;

/**
 * The files of a skill's folder, relative, in order, at most `most`; links, names with a dot in front and
 * `node_modules` are left out. What cannot be read is left out too.
 */
export async function listFiles(folder: string, most: number): Promise<{ paths: readonly string[]; more: boolean }> {
  const paths: string[] = [];
  const visit = async (prefix: string, depth: number): Promise<void> => {
    const entries = await readdir(join(folder, prefix), { withFileTypes: true }).catch(() => []);
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries) {
      if (paths.length > most) return;
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue;
      const path = join(prefix, entry.name);
      if (entry.isFile()) paths.push(path);
      if (entry.isDirectory() && depth < DEEPEST) await visit(path, depth + 1);
    }
  };
  await visit('', 0);
  return { paths: paths.slice(0, most), more: paths.length > most };
}
