import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, namesIn } from '../storage/files.ts';
import { readLinesBackwards } from '../storage/read-lines.ts';
import type { TapeEntry } from './entry.ts';
import { parseEntry, readTapeKey } from './tape.ts';
import { keyOfTapeName, tapeName } from './tape-name.ts';

export interface SessionInfo {
  readonly key: string;
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** Last change, milliseconds since 1970. */
  readonly changedAt: number;
}

/** Every session with a tape in this folder, in no particular order; none if there is no folder. */
export async function listTapes(directory: string): Promise<readonly SessionInfo[]> {
  const found: SessionInfo[] = [];
  for (const name of await namesIn(directory)) {
    const path = join(directory, name);
    const named = keyOfTapeName(name);
    const key = named === null ? await readTapeKey(path) : named;
    if (key === undefined) continue;
    const { size, mtimeMs } = await stat(path);
    found.push({ key, path, size, changedAt: mtimeMs });
  }
  return found;
}

/**
 * The readable entries of a session, newest first, also while an assistant appends to its tape. Nothing is repaired or
 * set aside: damaged lines and a torn last one are left out. Throws `ENOENT` if the session has no tape.
 */
export async function* readTape(directory: string, key: string): AsyncGenerator<TapeEntry> {
  for await (const { torn, bytes } of readLinesBackwards(join(directory, tapeName(key)))) {
    const entry = torn ? undefined : parseEntry(bytes);
    if (entry !== undefined) yield entry;
  }
}

/** Whether a session has a tape in this folder. */
export async function hasTape(directory: string, key: string): Promise<boolean> {
  return (await ifThere(stat(join(directory, tapeName(key)))))?.isFile() ?? false;
}
