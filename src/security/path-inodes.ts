import { constants, type Stats } from 'node:fs';
import { lstat, open, opendir, rename, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { AppError } from '../util/errors.ts';
import { systemRandom } from '../util/random.ts';
import type { Pinned } from './descriptors.ts';
import { refused } from './path-errors.ts';
import { statePaths } from './path-rules.ts';

/** Puts the bytes under `name` in one step, on disk before it returns; a link of that name is replaced, not followed. */
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

/** Takes a name away; durable when it resolves. A link of that name goes, not what it leads to. */
export async function removeIn(parent: Pinned, name: string): Promise<void> {
  await unlink(parent.at(name));
  await syncPinned(parent);
}

async function syncPinned(folder: Pinned): Promise<void> {
  const directory = await open(folder.self, constants.O_RDONLY);
  await directory.sync().finally(() => directory.close());
}

/** A hard link in the workspace must not open what the name in the home keeps closed. */
export async function refuseState(found: Stats, home: string): Promise<void> {
  for (const path of statePaths(home)) {
    const info = await lstat(path).catch(() => undefined);
    if (info === undefined) continue;
    if (info.isFile() && sameInode(info, found)) throw stateRefusal();
    if (!info.isDirectory()) continue;
    for await (const entry of await opendir(path, { recursive: true })) {
      if (!entry.isFile()) continue;
      const inner = await stat(join(entry.parentPath, entry.name)).catch(() => undefined);
      if (inner !== undefined && sameInode(inner, found)) throw stateRefusal();
    }
  }
}

function stateRefusal(): AppError {
  return refused("This file is part of the assistant's own configuration or state under another name.");
}

function sameInode(a: Stats, b: Stats): boolean {
  return a.ino === b.ino && a.dev === b.dev;
}

/** The same file with, as far as one can tell, the same content; null: no file. */
export function sameFile(a: Stats | undefined, b: Stats | null): boolean {
  if (a === undefined || b === null) return a === undefined && b === null;
  return sameInode(a, b) && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs;
}
