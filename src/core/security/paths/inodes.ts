import { constants, lstatSync, realpathSync, type Stats } from 'node:fs';
import { lstat, open, readdir, rename, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { systemRandom } from '../../util/random.ts';
import { sameInode, type Pinned } from './descriptors.ts';
import { refused } from './refusals.ts';
import { PRIVATE_NAMES, WORKSPACE_NAMES } from './names.ts';
import {
  closedPlaces,
  homeNames,
  isState,
  openedPlaces,
  type PathCaller,
  type PathRoots,
  type PlaceLink,
} from './rules.ts';

/**
 * Atomically writes a file `name` in `parent`, durable when it resolves; a link of that name is replaced, not followed.
 */
export async function replaceIn(parent: Pinned, name: string, bytes: Uint8Array, mode: number): Promise<void> {
  const suffix = Buffer.from(systemRandom.bytes(6)).toString('hex');
  const temporary = parent.at(`.${suffix}.tmp`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporary, flags, mode);
  try {
    try {
      await handle.writeFile(bytes);
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, parent.at(name));
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await syncPinned(parent);
}

/** Removes `name` from `parent`; durable when it resolves. Of a link only the link is removed. */
export async function removeIn(parent: Pinned, name: string): Promise<void> {
  await unlink(parent.at(name));
  await syncPinned(parent);
}

async function syncPinned(folder: Pinned): Promise<void> {
  const directory = await open(folder.self, constants.O_RDONLY);
  await directory.sync().finally(() => directory.close());
}

/**
 * Throws when a file with several hard links has one of them where the caller may not read: in the closed part of the
 * home and, for anyone but the owner, among the owner's private files.
 */
export async function refuseClosed(found: Stats, caller: PathCaller, roots: PathRoots): Promise<void> {
  if (!found.isFile() || found.nlink < 2) return;
  const { workspace, links = [] } = roots;
  const opened = openedPlaces(roots);
  const elsewhere = links.filter(({ place }) => isState(place, caller, roots)).map(({ real }) => real);
  for (const place of [...closedPlaces(roots), ...elsewhere]) {
    if (!(await holds(place, found, opened))) continue;
    throw refused("This file is part of the assistant's own configuration or state under another name.");
  }
  if (caller.role === 'owner') return;
  for (const name of PRIVATE_NAMES) {
    if (await holds(join(workspace, name), found))
      throw refused('This file is private to the owner under another name.');
  }
}

/** Whether `place` is this file or a folder that contains it; links are not followed. */
async function holds(place: string, file: Stats, except: ReadonlySet<string> = new Set()): Promise<boolean> {
  const info = await lstat(place).catch(() => undefined);
  if (info === undefined || except.has(place)) return false;
  if (!info.isDirectory()) return sameInode(info, file);
  const entries = await readdir(place);
  for (const name of entries) if (await holds(join(place, name), file, except)) return true;
  return false;
}

/** The names in the home and the workspace that have a meaning and are links: where each is and where it leads. */
export function linksOf({
  home,
  host,
  workspace,
  paths,
}: Pick<PathRoots, 'home' | 'host' | 'workspace' | 'paths'>): readonly PlaceLink[] {
  const homes = host === undefined ? [home] : [home, host];
  const places = [
    ...homes.flatMap((folder) => homeNames().map((name) => join(folder, name))),
    ...[...WORKSPACE_NAMES, ...paths.folders].map((name) => join(workspace, name)),
  ];
  return places.flatMap((place) => {
    try {
      const isLink = lstatSync(place, { throwIfNoEntry: false })?.isSymbolicLink() === true;
      return isLink ? [{ place, real: realpathSync.native(place) }] : [];
    } catch {
      // A broken link.
      return [];
    }
  });
}

/** Whether two stats are of the same unchanged file, by inode, size and times; null: there was no file. */
export function sameFile(a: Stats | undefined, b: Stats | null): boolean {
  if (a === undefined || b === null) return a === undefined && b === null;
  return sameInode(a, b) && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs;
}
