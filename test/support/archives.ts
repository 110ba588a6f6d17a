import { createHash } from 'node:crypto';
import { lstat, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { extract, pack, type Headers } from 'tar-stream';

export interface ArchiveEntry {
  readonly header: Headers;
  readonly bytes: Buffer;
}

/** What an archive of a backup holds. */
export async function readArchive(file: string): Promise<readonly ArchiveEntry[]> {
  const archive = extract();
  archive.end(gunzipSync(await readFile(file)));
  const entries: ArchiveEntry[] = [];
  for await (const entry of archive) entries.push({ header: entry.header, bytes: await buffer(entry) });
  return entries;
}

/** Writes an archive with exactly these entries. */
export async function writeArchive(file: string, entries: readonly ArchiveEntry[]): Promise<void> {
  const archive = pack();
  for (const { header, bytes } of entries) archive.entry(header, bytes);
  archive.finalize();
  await writeFile(file, gzipSync(await buffer(archive)));
}

/** What lies in a folder and all below it: hashes of files, targets of links, by path. */
export async function fingerprint(folder: string, below = ''): Promise<Readonly<Record<string, string>>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(join(folder, below))).toSorted()) {
    const path = below === '' ? name : `${below}/${name}`;
    const facts = await lstat(join(folder, path));
    if (facts.isDirectory()) Object.assign(found, await fingerprint(folder, path));
    else if (facts.isSymbolicLink()) found[path] = `→ ${await readlink(join(folder, path))}`;
    else if (facts.isFile()) {
      const bytes = await readFile(join(folder, path));
      found[path] = `${(facts.mode & 0o777).toString(8)} ${createHash('sha256').update(bytes).digest('hex')}`;
    }
  }
  return found;
}
