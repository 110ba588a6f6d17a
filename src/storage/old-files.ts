import { lstat, readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../util/errors.ts';

/** Folders in folders that are looked into. */
const DEEPEST = 4;

export interface OldFiles {
  /** Ms since 1970; what changed before goes. */
  readonly before: number;
  /** So many of the folder's newest files stay, however old they are. @default 0 */
  readonly spared?: number;
  /** Asked before each file, so that the caller can wait or stop (by throwing). */
  readonly pace: () => Promise<void>;
}

/** What lies in a folder and those under it, after what was too old went. */
export interface FolderState {
  readonly removed: number;
  /** Of what is left. */
  readonly bytes: number;
}

/**
 * Removes the files of a folder that did not change for long, and folders that are empty then; without `old` it only
 * counts bytes. Links are not followed. What goes away meanwhile is left out.
 */
export async function sweepFolder(folder: string, old: OldFiles | null, depth = 0): Promise<FolderState> {
  let removed = 0;
  let bytes = 0;
  const spared = depth === 0 ? await newestIn(folder, old?.spared ?? 0) : new Set<string>();
  for (const name of await namesIn(folder)) {
    const path = join(folder, name);
    await old?.pace();
    const found = await ifThere(lstat(path));
    if (found === undefined) continue;
    if (found.isDirectory()) {
      if (depth === DEEPEST) continue;
      const inside = await sweepFolder(path, old, depth + 1);
      removed += inside.removed;
      bytes += inside.bytes;
      if (inside.removed > 0 && inside.bytes === 0) await rmdir(path).catch(() => {});
    } else if (old !== null && found.mtimeMs < old.before && !spared.has(name)) {
      await rm(path, { force: true });
      removed += 1;
    } else {
      bytes += found.size;
    }
  }
  return { removed, bytes };
}

async function newestIn(folder: string, count: number): Promise<ReadonlySet<string>> {
  if (count === 0) return new Set();
  const files: { readonly name: string; readonly at: number }[] = [];
  for (const name of await namesIn(folder)) {
    const found = await ifThere(lstat(join(folder, name)));
    if (found?.isFile() === true) files.push({ name, at: found.mtimeMs });
  }
  return new Set(
    files
      .toSorted((a, b) => b.at - a.at)
      .slice(0, count)
      .map(({ name }) => name),
  );
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return (await ifThere(readdir(folder))) ?? [];
}

async function ifThere<T>(found: Promise<T>): Promise<T | undefined> {
  try {
    return await found;
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}
