import type { Stats } from 'node:fs';
import { lstat, readlink, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from '../../util/errors.ts';
import { refused } from './refusals.ts';
import { refuseClosed } from './inodes.ts';
import type { PathAccess, PathCaller, PathRoots } from './rules.ts';

/** A path with its `stat`. */
interface Found {
  readonly stat: Stats;
}

/** Links that are followed; Linux has the same limit. */
const MOST_LINKS = 40;

/** The real path of a file that exists, or would be created: all links are followed, also broken ones. */
export async function realPlace(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || dirname(path) === path) throw error;
    const place = join(await realPlace(dirname(path), links), basename(path));
    const target = await readlink(place).catch(() => undefined);
    if (target === undefined || links === MOST_LINKS) return place;
    return await realPlace(resolve(dirname(place), target), links + 1);
  }
}

/** Throws what opening the file would be refused for: its kind, its hard links, a closed file under another name. */
export async function requireUsable(
  stat: Stats,
  { path, access }: { path: string; access: PathAccess },
  caller: PathCaller,
  roots: PathRoots,
): Promise<void> {
  if (access === 'write' || !stat.isDirectory()) requireFile({ stat }, path);
  if (access === 'write') requireOneName({ stat }, path);
  await refuseClosed(stat, caller, roots);
}

/** Throws for a broken link: a write would replace the link or create its target. */
export async function requireNoLink(absolute: string, path: string): Promise<void> {
  const found = await lstat(absolute).catch(() => undefined);
  if (found !== undefined) throw refused(`${path} is a broken link, so it is not written.`);
}

export function requireFile({ stat }: Found, path: string): void {
  if (stat.isFile()) return;
  throw refused(
    stat.isDirectory()
      ? `${path} is a directory; a file was expected.`
      : `${path} is not a regular file (a device, pipe or socket), so it is not opened.`,
  );
}

export function requireOneName({ stat }: Found, path: string): void {
  if (stat.nlink > 1) throw refused(`${path} has other names (hard links), so it is not written.`);
}

export function requireDirectory({ stat }: Found, path: string): void {
  if (!stat.isDirectory()) throw refused(`${path} is not a directory.`);
}
