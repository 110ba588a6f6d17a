import { lstatSync } from 'node:fs';

/** Paths with what told them apart when they were looked at. */
export type Stamps = Map<string, string>;

/** Changes when a file is written or replaced, or when an entry of a folder comes or goes; `-`: there is nothing. */
export function stampOf(path: string): string {
  try {
    const { dev, ino, size, mtimeMs, ctimeMs } = lstatSync(path);
    return `${dev}:${ino}:${size}:${mtimeMs}:${ctimeMs}`;
  } catch {
    return '-';
  }
}

export function isCurrent(stamps: Stamps): boolean {
  for (const [path, stamp] of stamps) if (stampOf(path) !== stamp) return false;
  return true;
}
