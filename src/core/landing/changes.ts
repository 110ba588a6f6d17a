import { createHash } from 'node:crypto';
import { constants, type BigIntStats } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChangedPath } from './contract.ts';
import { measure, namesIn, NotLandable, statAt, type Pace, type TreeFacts } from './tree.ts';

/** One step of a landing. */
export interface Change {
  readonly path: string;
  /**
   * `put`: the upper entry, with everything in it, takes the path. `attributes`: a folder's mode, or the mode and mtime of a file
   * with the same bytes; the inode stays.
   */
  readonly op: 'put' | 'delete' | 'attributes';
  /** What the path holds now; undefined for a new path. */
  readonly old: Old | undefined;
  /** Permission bits. */
  readonly mode: number;
  readonly isFolder: boolean;
  /** Set where the mtime changes, in seconds. Node sets no finer than about a microsecond. */
  readonly mtime?: number;
}

export interface Old extends TreeFacts {
  readonly ino: string;
  readonly isFolder: boolean;
  readonly mode: number;
  readonly mtimeNs: bigint;
  readonly size: number;
}

/** Everything that a view has changed. */
export interface ChangeSet {
  readonly changes: readonly Change[];
  readonly paths: readonly ChangedPath[];
  readonly bytes: number;
  readonly undoBytes: number;
  readonly fingerprint: string;
}

/** A replaced folder with at least this many entries is swapped as a whole. In smaller ones each entry lands separately. */
const SWAP_ENTRIES = 64;
const CHUNK_BYTES = 1024 ** 2;
/** A change set is one row of the journal. */
const MOST_STEPS = 50_000;
const MOST_DEEP = 500;

interface Walked {
  readonly changes: readonly Change[];
  /** Nothing of the lower folder shows through anywhere below, so the upper folder can take its place. */
  readonly isPure: boolean;
  readonly entries: number;
}

/** Lists the changes: the upper layer's entries, and lower names that the merged tree doesn't show. */
export async function findChanges(
  { upper, lower, merged }: { readonly upper: string; readonly lower: string; readonly merged: string },
  pace: Pace,
): Promise<ChangeSet> {
  const paths: ChangedPath[] = [];
  const print = createHash('sha256');
  let bytes = 0;

  const note = (path: string, how: ChangedPath['how'], now: BigIntStats): void => {
    const kind = kindOf(now);
    const [mode, size] = [modeOf(now), kind === 'file' ? Number(now.size) : 0];
    paths.push({ path, how, kind, mode, size });
    if (how === 'added' || how === 'changed') bytes += size;
  };
  const removed = async (path: string, before: BigIntStats): Promise<Change> => {
    note(path, 'removed', before);
    return { path, op: 'delete', old: await oldOf(lower, path, before, pace), mode: 0, isFolder: false };
  };

  const walk = async (rel: string, merges: boolean, depth: number): Promise<Walked> => {
    if (depth > MOST_DEEP) throw new NotLandable(`${rel.slice(0, 80)}… has too many folders inside one another`);
    const changes: Change[] = [];
    const upperNames = new Set<string>();
    let isPure = true;
    let entries = 0;
    // Below a new folder the lower path may lead elsewhere, because a file or a link has the name.
    const lowerNames = merges ? namesIn(join(lower, rel), rel) : [];
    const mergedNames = merges ? new Set(namesIn(join(merged, rel), rel)) : new Set<string>();
    requireText(rel, lowerNames, mergedNames);
    for (const name of namesIn(join(upper, rel), rel)) {
      await pace.step();
      const path = rel === '' ? name : `${rel}/${name}`;
      if (name.includes('\uFFFD')) throw new NotLandable(`the name ${path} isn't valid UTF-8`);
      const now = statAt(join(upper, path));
      if (now === undefined) throw new NotLandable(`${path} has changed while it was read`);
      if (isWhiteout(now)) continue;
      if (merges && isDatabaseIndex(name, lowerNames)) {
        isPure = false;
        continue;
      }
      upperNames.add(name);
      entries += 1;
      print.update(`${path}\0${now.ino} ${now.size} ${now.mode} ${now.mtimeNs} ${now.ctimeNs}\0`);
      const before = merges ? statAt(join(lower, path)) : undefined;
      const put = async (): Promise<Change> => ({
        path,
        op: 'put',
        old: before === undefined ? undefined : await oldOf(lower, path, before, pace),
        mode: modeOf(now),
        isFolder: now.isDirectory(),
      });
      if (now.isDirectory()) {
        const mergesBelow = before?.isDirectory() === true;
        if (before === undefined || !mergesBelow) note(path, before === undefined ? 'added' : 'changed', now);
        else if (before.mode !== now.mode) note(path, 'attributes', now);
        const below = await walk(path, mergesBelow, depth + 1);
        entries += below.entries;
        if (before === undefined || !mergesBelow || (below.isPure && below.entries >= SWAP_ENTRIES)) {
          changes.push(await put());
        } else {
          isPure &&= below.isPure;
          const mode = modeOf(now);
          if (modeOf(before) !== mode)
            changes.push({ path, op: 'attributes', old: shallow(path, before), mode, isFolder: true });
          changes.push(...below.changes);
        }
      } else if (
        before !== undefined &&
        (await hasSameBytes(join(upper, path), now, join(lower, path), before, pace))
      ) {
        isPure = false;
        if (now.mode === before.mode && now.mtimeNs === before.mtimeNs) continue;
        const mtime = now.mtimeNs === before.mtimeNs ? {} : { mtime: Number(now.mtimeNs) / 1e9 };
        changes.push({ ...(await put()), op: 'attributes', ...mtime });
        note(path, 'attributes', now);
      } else {
        changes.push(await put());
        note(path, before === undefined ? 'added' : 'changed', now);
      }
      if (changes.length > MOST_STEPS) throw new NotLandable(`it changed more than ${MOST_STEPS} separate files`);
    }
    if (merges && [...mergedNames].some((name) => !upperNames.has(name))) isPure = false;
    for (const name of lowerNames) {
      await pace.step();
      if (mergedNames.has(name) || isDatabaseIndex(name, lowerNames)) continue;
      const path = rel === '' ? name : `${rel}/${name}`;
      const before = statAt(join(lower, path));
      if (before === undefined || isWhiteout(before)) continue;
      print.update(`-${path}\0`);
      changes.push(await removed(path, before));
    }
    return { changes, isPure, entries };
  };

  const { changes } = await walk('', true, 0);
  const undoBytes = changes.reduce((sum, { op, old }) => sum + (op === 'attributes' ? 0 : (old?.bytes ?? 0)), 0);
  return { changes, paths, bytes, undoBytes, fingerprint: print.digest('hex') };
}

/** Throws if a removed name might go unnoticed: two names that aren't valid UTF-8 can look the same to Node. */
function requireText(rel: string, lowerNames: readonly string[], mergedNames: ReadonlySet<string>): void {
  const odd = lowerNames.filter((name) => name.includes('\uFFFD'));
  if (odd.length > new Set(odd).size || odd.some((name) => !mergedNames.has(name)))
    throw new NotLandable(`a name in ${rel === '' ? 'the workspace' : rel} isn't valid UTF-8`);
}

async function oldOf(root: string, path: string, before: BigIntStats, pace: Pace): Promise<Old> {
  const facts = await measure(root, path, pace);
  if (facts === undefined) throw new NotLandable(`${path} has changed while it was read`);
  return { ...shallow(path, before), ...facts };
}

function shallow(path: string, before: BigIntStats): Old {
  return {
    entries: 1,
    bytes: 0,
    newestNs: before.ctimeNs,
    newest: path,
    ino: before.ino.toString(),
    isFolder: before.isDirectory(),
    mode: modeOf(before),
    mtimeNs: before.mtimeNs,
    size: Number(before.size),
  };
}

/** True for SQLite's shared-memory file, which belongs to the processes that have the database open. SQLite rebuilds it. */
const isDatabaseIndex = (name: string, siblings: readonly string[]): boolean =>
  name.endsWith('-shm') && siblings.includes(name.slice(0, -4));

const isWhiteout = (stats: BigIntStats): boolean => stats.isCharacterDevice() && stats.rdev === 0n;

export const modeOf = (stats: BigIntStats): number => Number(stats.mode & 0o7777n);

const kindOf = (stats: BigIntStats): ChangedPath['kind'] =>
  stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isSymbolicLink() ? 'link' : 'other';

/** True after a copy-up without a write. Programs can set mtime and size, so the bytes are compared. */
async function hasSameBytes(
  upper: string,
  now: BigIntStats,
  lower: string,
  before: BigIntStats,
  pace: Pace,
): Promise<boolean> {
  if (!now.isFile() || !before.isFile() || now.size !== before.size) return false;
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  try {
    await using a = await open(upper, flags);
    await using b = await open(lower, flags);
    const room = Math.min(CHUNK_BYTES, Number(now.size));
    const [one, two] = [Buffer.allocUnsafe(room), Buffer.allocUnsafe(room)];
    for (let at = 0; at < now.size; at += CHUNK_BYTES) {
      await pace.step();
      const [left, right] = await Promise.all([a.read(one, 0, room, at), b.read(two, 0, room, at)]);
      if (left.bytesRead !== right.bytesRead) return false;
      if (!one.subarray(0, left.bytesRead).equals(two.subarray(0, right.bytesRead))) return false;
    }
    return true;
  } catch (error) {
    if (error instanceof NotLandable || pace.isAborted) throw error;
    // A file that can't be read counts as changed.
    return false;
  }
}
