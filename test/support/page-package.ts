import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A block of a file: its path in bold on a line of its own, then the fence. */
const BLOCK = /^\*\*`(?<path>[\w./-]+)`\*\*\n\n```\w*\n(?<code>[\s\S]*?)^```$/gmu;

/** The files that a page of docs shows, by path; blocks of one path follow each other in it. */
export async function filesOfPage(page: string): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(fileURLToPath(new URL(`../../docs/${page}`, import.meta.url)), 'utf8');
  const files = new Map<string, string>();
  for (const { groups } of text.matchAll(BLOCK)) {
    const { path = '', code = '' } = groups ?? {};
    const before = files.get(path);
    files.set(path, before === undefined ? code : `${before}\n${code}`);
  }
  return files;
}

/** Writes the files of a page into a folder, which is made. */
export async function writePage(page: string, folder: string): Promise<void> {
  for (const [path, code] of await filesOfPage(page)) {
    const file = join(folder, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, code);
  }
}
