import { lstat, opendir } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** Milliseconds since 1970. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** A walk ends after so many entries of folders. */
const MOST_ENTRIES = 20_000;
/** File systems round the times of files down to their clock's tick. */
const TICK_MS = 10;
const SKIPPED: ReadonlySet<string> = new Set(['.git', 'node_modules']);

/**
 * The files below a folder that last changed in one of these spans, relative to it and sorted: as far as the disk still
 * knows. Removed files, links and what lies in `.git` and `node_modules` are not found.
 */
export async function changedBetween(folder: string, spans: readonly TimeSpan[]): Promise<readonly string[]> {
  if (spans.length === 0) return [];
  const found: string[] = [];
  const waiting = [folder];
  for (let seen = 0, next = waiting.pop(); next !== undefined && seen < MOST_ENTRIES; next = waiting.pop()) {
    const entries = await opendir(next).catch(() => undefined);
    if (entries === undefined) continue;
    for await (const entry of entries) {
      seen += 1;
      const path = join(next, entry.name);
      if (entry.isDirectory() && !SKIPPED.has(entry.name)) waiting.push(path);
      if (!entry.isFile()) continue;
      const changed = (await lstat(path).catch(() => undefined))?.mtimeMs;
      if (changed === undefined) continue;
      if (spans.some(({ from, to }) => changed >= from - TICK_MS && changed <= to)) found.push(relative(folder, path));
    }
  }
  return found.sort();
}
