import type { Stats } from 'node:fs';
import { relative } from 'node:path';
import type { PathGuard, PathUse } from '../../security/paths/guard.ts';
import { LARGEST_COPY, sha256, type ChangeLog, type RecordedChange } from '../../storage/change-log.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { firstJoined } from '../../util/first-joined.ts';

/** What became of a file that was to be put back. */
export interface RestoredFile {
  /** Relative to the workspace where it lies in it, else absolute. */
  readonly path: string;
  /**
   * `restored`: holds what it held before; `removed`: it was new; `partly`: holds what somebody else had made of it
   * between two of the changes; `left`: nothing was done to it.
   */
  readonly outcome: 'restored' | 'removed' | 'partly' | 'left';
  /** Why it was left, or only partly restored; empty otherwise. */
  readonly reason: string;
}

interface RestoreOptions {
  readonly guard: PathGuard;
  readonly copies: Pick<ChangeLog, 'copy'>;
  /** Folders beside the workspace that the conversation may change. @default none */
  readonly roots?: readonly string[];
  /** Says what would become of each file, and changes nothing. @default false */
  readonly dry?: boolean;
}

/** The owner asks for it, and for nothing but what was there before: files that are asked about need no second yes. */
const OWNER: PathUse = {
  role: 'owner',
  chatType: 'direct',
  taint: { untrusted: false },
  approved: () => true,
};

/**
 * Puts back what changes replaced, oldest first as they were recorded: each file gets what it held before the first of
 * them, or before the first after which nobody else changed it. A file that holds anything but what the changes left
 * there is not touched, nor is what is no plain file at its own place any more. Folders that were made for a file leave
 * with it when they are empty. Files that stand as they did before are not named. Done twice it does nothing more.
 */
export async function restoreFiles(
  changes: readonly RecordedChange[],
  options: RestoreOptions,
): Promise<readonly RestoredFile[]> {
  const workspace = options.guard.resolve('.');
  const restored: RestoredFile[] = [];
  for (const [path, ofFile] of Map.groupBy(changes, (change) => change.path)) {
    const inside = relative(workspace, path);
    const shown = inside.startsWith('..') ? path : inside;
    const result = await restore(path, ofFile, options).catch((error: unknown) => left(errorMessage(error)));
    if (result !== 'as-before') restored.push({ path: shown, ...result });
  }
  return restored;
}

type Result = Omit<RestoredFile, 'path'> | 'as-before';

const RESTORED: Result = { outcome: 'restored', reason: '' };
const REMOVED: Result = { outcome: 'removed', reason: '' };
const PARTLY: Result = {
  outcome: 'partly',
  reason: 'somebody else changed it between my changes, so it is as they left it',
};

function left(reason: string): Result {
  return { outcome: 'left', reason };
}

async function restore(path: string, changes: readonly RecordedChange[], options: RestoreOptions): Promise<Result> {
  const { guard, copies, roots = [], dry = false } = options;
  const use = { ...OWNER, roots };
  const current = await currentOf(path, guard, use);
  if (current === 'elsewhere') return left('there is a link in its place now');
  // A file that was deleted since comes back: nothing is lost by it.
  const last = current === null ? changes.length - 1 : changes.findLastIndex(({ after }) => after === current.hash);
  const first = firstJoined(changes, last === -1 ? changes.length - 1 : last, follows);
  const before = changes[first]?.before ?? null;
  if (before === null) {
    if (current === null) return 'as-before';
    if (last === -1 || current.hash === null) return left('it changed after I made it');
    if (!dry) {
      await guard.removeFile(path, { ...use, unchangedSince: current.stat });
      for (const folder of changes[first]?.folders ?? []) await guard.removeEmptyFolder(folder, use);
    }
    return first === 0 ? REMOVED : PARTLY;
  }
  if (before.hash === null) return left('it was too large to keep a copy of it');
  if (current?.hash === before.hash || (last === -1 && current?.hash === changes[0]?.before?.hash)) return 'as-before';
  if (last === -1 || current?.hash === null) return left('it changed after I wrote it');
  const bytes = await copies.copy(before.hash);
  if (bytes === undefined) return left('the copy of it is not kept any more');
  if (!dry) {
    await guard.writeFile(path, bytes, { ...use, mode: before.mode, unchangedSince: current?.stat ?? null });
  }
  return first === 0 ? RESTORED : PARTLY;
}

/** Whether a change found what the one before left, or what that one found, if it was recorded and not made. */
function follows(change: RecordedChange, earlier: RecordedChange): boolean {
  const found = change.before === null ? 'nothing' : change.before.hash;
  if (found === null) return false;
  return (
    found === (earlier.after ?? 'nothing') || found === (earlier.before === null ? 'nothing' : earlier.before.hash)
  );
}

interface Current {
  readonly stat: Stats;
  /** SHA-256 in hex; null: it is larger than what a tool writes. */
  readonly hash: string | null;
}

/** What is at the very place; null: nothing. */
async function currentOf(path: string, guard: PathGuard, use: PathUse): Promise<Current | null | 'elsewhere'> {
  const place = await guard.check(path, 'write', use);
  if (place.decision === 'deny') throw new AppError('path-refused', place.reason);
  if (place.path !== path) return 'elsewhere';
  try {
    const { handle, path: real, stat } = await guard.openForReading(path, use);
    try {
      if (real !== path) return 'elsewhere';
      return { stat, hash: stat.size > LARGEST_COPY ? null : sha256(await handle.readFile()) };
    } finally {
      await handle.close();
    }
  } catch (error) {
    if (error instanceof AppError && error.facts['code'] === 'ENOENT') return null;
    throw error;
  }
}
