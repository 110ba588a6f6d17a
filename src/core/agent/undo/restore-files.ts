import { relative } from 'node:path';
import type { Inside, PathGuard } from '../../security/paths/open-inside.ts';
import type { PathCaller } from '../../security/paths/rules.ts';
import { LARGEST_COPY, sha256, type ChangeLog, type RecordedChange } from '../../storage/change-log.ts';
import { errorMessage } from '../../util/errors.ts';
import { readOpened } from '../../files/access.ts';
import { asAuthor, type Marks } from '../../files/marks.ts';
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
  /** Get back what they said of the file. @default nothing is marked */
  readonly marks?: Pick<Marks, 'record' | 'forgetFile'>;
  /** Folders beside the workspace that the conversation may change. @default none */
  readonly roots?: readonly string[];
  /** Says what would become of each file, and changes nothing. @default false */
  readonly dry?: boolean;
}

/** The owner asks for it, and for nothing but what was there before: files that are asked about need no second yes. */
const OWNER: PathCaller = { role: 'owner', chatType: 'direct', taint: { untrusted: false } };

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
  const { guard, copies, marks, roots = [], dry = false } = options;
  const caller = { ...OWNER, roots };
  using place = await guard.openInside(path, 'write', caller);
  if (place.path !== path) return left('there is a link in its place now');
  const isThere = place.stat !== null;
  const hash = await hashOf(place);
  // A file that was deleted since comes back: nothing is lost by it.
  const last = isThere ? changes.findLastIndex(({ after }) => after === hash) : changes.length - 1;
  const first = firstJoined(changes, last === -1 ? changes.length - 1 : last, follows);
  const before = changes[first]?.before ?? null;
  if (before === null) {
    if (!isThere) return 'as-before';
    if (last === -1 || hash === null) return left('it changed after I made it');
    if (!dry) {
      await place.remove();
      for (const folder of changes[first]?.folders ?? []) await guard.removeEmptyFolder(folder, caller);
    }
    return first === 0 ? REMOVED : PARTLY;
  }
  if (before.hash === null) return left('it was too large to keep a copy of it');
  if (isThere && (hash === before.hash || (last === -1 && hash === changes[0]?.before?.hash))) return 'as-before';
  if (last === -1 || (isThere && hash === null)) return left('it changed after I wrote it');
  const bytes = await copies.copy(before.hash);
  if (bytes === undefined) return left('the copy of it is not kept any more');
  if (dry) return first === 0 ? RESTORED : PARTLY;
  if (typeof before.author === 'string') await marks?.record([{ path }], asAuthor(before.author));
  await place.write(bytes, before.mode);
  if (before.author === null) await marks?.forgetFile(path);
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

/** SHA-256 in hex; null: there is no file, or it is larger than what a tool writes. */
async function hashOf(place: Inside): Promise<string | null> {
  if (place.stat === null || place.stat.size > LARGEST_COPY) return null;
  return sha256((await readOpened(place)).bytes);
}
