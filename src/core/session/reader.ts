import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ifThere, namesIn } from '../storage/files.ts';
import { readLinesBackwards, type ReadLinesOptions } from '../storage/read-lines.ts';
import type { TapeEntry } from './entry.ts';
import { parseEntry, readTapeKey } from './tape.ts';
import { keyOfTapeName, tapeName } from './tape-name.ts';

/** Files that are looked at side by side. */
const AT_ONCE = 64;

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
  const names = await namesIn(directory);
  const found: SessionInfo[] = [];
  for (let from = 0; from < names.length; from += AT_ONCE) {
    const some = await Promise.all(names.slice(from, from + AT_ONCE).map((name) => tapeAt(directory, name)));
    for (const tape of some) if (tape !== undefined) found.push(tape);
  }
  return found;
}

async function tapeAt(directory: string, name: string): Promise<SessionInfo | undefined> {
  const path = join(directory, name);
  const named = keyOfTapeName(name);
  if (named === undefined) return undefined;
  // One that is deleted meanwhile is none.
  const facts = await ifThere(stat(path));
  const key = named === null && facts !== undefined ? await ifThere(readTapeKey(path)) : named;
  if (facts === undefined || typeof key !== 'string') return undefined;
  return { key, path, size: facts.size, changedAt: facts.mtimeMs };
}

/**
 * The readable entries of a session, newest first, also while an assistant appends to its tape. Nothing is repaired or
 * set aside: damaged lines and a torn last one are left out. Throws `ENOENT` if the session has no tape.
 */
export async function* readTape(
  directory: string,
  key: string,
  options: Pick<ReadLinesOptions, 'mostBytes'> = {},
): AsyncGenerator<TapeEntry> {
  for await (const { torn, bytes } of readLinesBackwards(join(directory, tapeName(key)), options)) {
    const entry = torn ? undefined : parseEntry(bytes);
    if (entry !== undefined) yield entry;
  }
}

/** Whether a session has a tape in this folder. */
export async function hasTape(directory: string, key: string): Promise<boolean> {
  return (await ifThere(stat(join(directory, tapeName(key)))))?.isFile() ?? false;
}
