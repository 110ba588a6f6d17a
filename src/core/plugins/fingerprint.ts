import { createHash } from 'node:crypto';
import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** Files of one package, and bytes of all of them, that are read at most. */
const MOST_FILES = 20_000;
const MOST_BYTES = 256 * 1024 * 1024;

const CODE = /\.(?:[cm]?[jt]s|json)$/u;
/** Also as minifiers write it, and as a constant for `{ guard }`. */
const GUARD = /\bguard\b["']?\]?\s*[:=]\s*(?:true\b|!0)/u;

/**
 * SHA-256, in hex, of a package: of the names and contents of all files in its folder, those of packages inside of it included.
 * What a person agreed to is bound to it. Throws one sentence without a full stop when the package is too large, or when a link in
 * it leads elsewhere, where what was agreed to could change unseen.
 */
export async function fingerprintOf(folder: string): Promise<string> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => ({ path: join(entry.parentPath, entry.name), isLink: entry.isSymbolicLink() }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  if (files.length > MOST_FILES) throw new Error(`the package has more than ${MOST_FILES} files`);
  const hash = createHash('sha256');
  let bytes = 0;
  for (const { path, isLink } of files) {
    if (isLink && !(await leadsInside(path, folder)))
      throw new Error('its package holds a link that leads outside of it');
    const content = isLink ? Buffer.from(await readlink(path)) : await readFile(path);
    bytes += content.byteLength;
    if (bytes > MOST_BYTES) throw new Error('the package has more than 256 MB');
    hash.update(JSON.stringify([path.slice(folder.length), isLink, content.byteLength]));
    hash.update(content);
  }
  return hash.digest('hex');
}

async function leadsInside(link: string, folder: string): Promise<boolean> {
  const target = await realpath(link).catch(() => null);
  return target === null || target.startsWith(folder + sep);
}

/**
 * Whether a file of a package says `guard: true`. That is all that can be known of a plugin that never loaded. True also
 * where a file can't be read.
 */
export async function saysGuard(folder: string): Promise<boolean> {
  try {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      if (!entry.isFile() || !CODE.test(entry.name) || path.includes(`${sep}node_modules${sep}`, folder.length))
        continue;
      if (GUARD.test(await readFile(path, 'utf8'))) return true;
    }
    return false;
  } catch {
    return true;
  }
}
