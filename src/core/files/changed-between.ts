import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';

/** Milliseconds since 1970. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** The result of `changedBetween`. */
export interface ChangedPaths {
  /** Files, relative to the folder and sorted. */
  readonly files: readonly string[];
  /** Folders that weren't searched because there were too many entries; relative to the folder. */
  readonly unseen: readonly string[];
}

/** A walk ends after this many entries. */
const MOST_ENTRIES = 20_000;
/** File systems round the times of files down to their clock's tick. */
const TICK_MS = 10;

/**
 * The files below a folder whose last change falls into one of these spans. Removed files and links aren't found, nor is
 * what is in folders with the names in `skipped`. `time`: programs can set a file's mtime, but not its ctime.
 */
export async function changedBetween(
  folder: string,
  spans: readonly TimeSpan[],
  { skipped = [], time }: { readonly skipped?: readonly string[]; readonly time: 'ctimeMs' | 'mtimeMs' },
): Promise<ChangedPaths> {
  if (spans.length === 0) return { files: [], unseen: [] };
  const files: string[] = [];
  const waiting = [''];
  for (let seen = 0; waiting.length > 0 && seen < MOST_ENTRIES;) {
    const inside = waiting.shift() ?? '';
    const entries = await opendir(join(folder, inside)).catch(() => undefined);
    if (entries === undefined) continue;
    for await (const entry of entries) {
      seen += 1;
      const path = join(inside, entry.name);
      if (entry.isDirectory() && !skipped.includes(entry.name)) waiting.push(path);
      if (!entry.isFile()) continue;
      const changed = (await lstat(join(folder, path)).catch(() => undefined))?.[time];
      if (changed === undefined) continue;
      if (spans.some(({ from, to }) => changed >= from - TICK_MS && changed <= to + TICK_MS)) files.push(path);
    }
  }
  return { files: files.sort(), unseen: waiting };
}
