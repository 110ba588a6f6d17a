import { lstat, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, namesIn } from './files.ts';

/** Levels of folders that are swept; deeper ones are neither counted nor removed. */
const DEEPEST = 4;

export interface OldFiles {
  /** Ms since 1970; files last changed before this are removed. */
  readonly before: number;
  /** How many of the newest files directly in the folder stay, however old they are. @default 0 */
  readonly spared?: number;
  /** Asked before each file, so that the caller can wait or stop (by throwing). */
  readonly pace: () => Promise<void>;
}

/** The result of sweeping a folder. */
export interface FolderState {
  /** Files that were removed. */
  readonly removed: number;
  /** Bytes of the remaining files. */
  readonly bytes: number;
}

/**
 * Removes old files below a folder, and folders that this leaves empty; with `old` null it only counts bytes. Links are
 * not followed. Files that disappear meanwhile are ignored.
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
