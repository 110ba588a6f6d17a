import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  renameSync,
  unlinkSync,
  utimesSync,
  type BigIntStats,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { modeOf, type Change } from './changes.ts';
import { statAt, type Pace } from './tree.ts';

/** A step of a landing, as stored in its row. */
export interface Step {
  readonly path: string;
  readonly op: Change['op'];
  /** The new entry's path below `source`. */
  readonly from: string;
  /** The old entry's path below `saved`. */
  readonly keep: string;
  /** Inode of the new entry and of the old one. */
  readonly now: string | null;
  readonly old: string | null;
  readonly nowIsFolder: boolean;
  readonly oldIsFolder: boolean;
  readonly mode: number;
  readonly oldMode: number;
  /** Seconds. */
  readonly mtime: number;
  readonly oldMtime: number;
  /** An `attributes` step sets the mtime too. */
  readonly setsMtime: boolean;
  readonly size: number;
  readonly oldSize: number;
}

/** A landing or its inverse: enough to finish it or to take it back. */
export interface Manifest {
  readonly workspace: string;
  readonly source: string;
  readonly saved: string;
  readonly steps: readonly Step[];
}

/** Another program replaced an entry in the middle of a landing. */
class Replaced extends Error {}

export interface ApplyOptions {
  readonly pace: Pace;
  /** Keeps an entry that is neither the old nor the new one as `KEEP.foreign` instead of throwing. @default false */
  readonly keepsForeign?: boolean;
  /** Called after each change on disk. */
  readonly onStep: () => void;
}

/** The steps of a landing, in order. Folders that must be made writable for it get a step at the end that restores their mode. */
export async function manifestOf(
  changes: readonly Change[],
  { workspace, source, saved }: Omit<Manifest, 'steps'>,
  pace: Pace,
): Promise<Manifest> {
  const attributes = new Map(changes.filter(({ op }) => op === 'attributes').map((change) => [change.path, change]));
  const entries = changes.filter(({ op }) => op !== 'attributes');
  for (const path of new Set(entries.map((change) => dirname(change.path)))) {
    const stats = statAt(join(workspace, path));
    if (stats === undefined || attributes.has(path) || isOpen(modeOf(stats))) continue;
    const old = { ino: stats.ino.toString(), isFolder: true, mode: modeOf(stats), mtimeNs: stats.mtimeNs, size: 0 };
    const facts = { entries: 1, bytes: 0, newestNs: 0n, newest: path };
    attributes.set(path, { path, op: 'attributes', old: { ...old, ...facts }, mode: old.mode, isFolder: true });
  }
  const closing = [...attributes.values()].sort((a, b) => b.path.length - a.path.length);
  const steps: Step[] = [];
  for (const { path, op, old, mode, isFolder, mtime } of [...entries, ...closing]) {
    await pace.step();
    const fresh = op === 'put' ? statAt(join(source, path)) : undefined;
    steps.push({
      path,
      op,
      from: path,
      mode,
      nowIsFolder: isFolder,
      setsMtime: mtime !== undefined,
      keep: String(steps.length),
      now: fresh?.ino.toString() ?? null,
      old: old?.ino ?? null,
      oldIsFolder: old?.isFolder ?? false,
      oldMode: old?.mode ?? 0,
      mtime: mtime ?? Number(fresh?.mtimeNs ?? 0n) / 1e9,
      oldMtime: Number(old?.mtimeNs ?? 0n) / 1e9,
      size: Number(fresh?.size ?? 0n),
      oldSize: old?.size ?? 0,
    });
  }
  return { workspace, source, saved, steps };
}

/** The manifest that reverts a landing, with the saved entries as its source. `nameOf`: where it puts the landing's new entries. */
export function inverse(
  { workspace, saved, steps }: Manifest,
  savedNow: string,
  nameOf: (step: Step) => string = ({ keep }) => keep,
): Manifest {
  const back = steps.map((step): Step => ({
    ...step,
    keep: nameOf(step),
    op: step.op === 'attributes' ? 'attributes' : step.old === null ? 'delete' : 'put',
    from: step.keep,
    now: step.op === 'attributes' ? null : step.old,
    old: step.op === 'attributes' ? step.old : step.now,
    nowIsFolder: step.oldIsFolder,
    oldIsFolder: step.op === 'attributes' ? step.oldIsFolder : step.nowIsFolder,
    mode: step.oldMode,
    oldMode: step.mode,
    mtime: step.oldMtime,
    oldMtime: step.mtime,
    size: step.oldSize,
    oldSize: step.size,
  }));
  const isClosing = ({ op }: Step): boolean => op === 'attributes';
  return {
    workspace,
    source: saved,
    saved: savedNow,
    steps: [...back.filter((step) => !isClosing(step)).reverse(), ...back.filter(isClosing)],
  };
}

/** Applies a manifest. Idempotent, because recovery calls it again. Throws `Replaced` if an entry isn't the old one. */
export async function apply(
  { workspace, source, saved, steps }: Manifest,
  { pace, keepsForeign = false, onStep }: ApplyOptions,
): Promise<void> {
  using folders = new Folders(workspace);
  // Folders whose mode changes and read-only ones stay open until the end, the outermost first.
  for (const step of steps.filter(({ op, oldIsFolder }) => op === 'attributes' && oldIsFolder).reverse()) {
    await pace.step();
    if (!isOpen(step.oldMode) || !isOpen(step.mode)) change(folders.at(step.path), step.old, step.oldMode | 0o700);
  }
  onStep();
  for (const step of steps) {
    await pace.step();
    const target = folders.at(step.path);
    if (step.op === 'attributes') change(target, step.old, step.mode, step.setsMtime ? step.mtime : null);
    else one(step, { target, from: join(source, step.from), keep: join(saved, step.keep) }, { keepsForeign, onStep });
    onStep();
  }
}

function one(
  step: Step,
  { target, from, keep }: { readonly target: string; readonly from: string; readonly keep: string },
  { keepsForeign, onStep }: Required<Pick<ApplyOptions, 'keepsForeign' | 'onStep'>>,
): void {
  const there = statAt(target);
  const ino = there?.ino.toString();
  const fresh = step.op === 'put' ? statAt(from) : undefined;
  if (step.op === 'put' && fresh === undefined) {
    // Moved by an earlier attempt, which may not have closed the folder again.
    if (ino === step.now && there?.isDirectory() === true && modeOf(there) !== step.mode)
      change(target, step.now, step.mode);
    return;
  }
  if (there !== undefined && ino !== step.old) {
    if (!keepsForeign) throw new Replaced(`${step.path} was replaced`);
    move(target, `${keep}.foreign`, there);
  } else if (there !== undefined && statAt(keep) === undefined) {
    if (there.isDirectory() || step.op === 'delete' || fresh?.isDirectory() === true)
      move(target, keep, there, step.oldMode);
    else saveFile(target, keep);
  } else if (there === undefined && step.old !== null && statAt(keep) === undefined && !keepsForeign) {
    throw new Replaced(`${step.path} was removed`);
  }
  if (step.oldIsFolder) change(keep, step.old, step.oldMode);
  onStep();
  if (fresh !== undefined) move(from, target, fresh, step.mode);
}

/** Links the file, so that it is never missing. Where a link is refused, as for another user's file, moves it. */
function saveFile(target: string, keep: string): void {
  try {
    linkSync(target, keep);
  } catch {
    renameSync(target, keep);
  }
}

/** Renames an entry. A folder must be writable to get another parent. */
function move(from: string, to: string, what: BigIntStats, mode = modeOf(what)): void {
  const isClosed = what.isDirectory() && !isOpen(modeOf(what));
  if (isClosed) change(from, what.ino.toString(), 0o700);
  renameSync(from, to);
  if (what.isDirectory() && (isClosed || modeOf(what) !== mode)) change(to, what.ino.toString(), mode);
}

const isOpen = (mode: number): boolean => (mode & 0o300) === 0o300;

/** Opens an entry itself, without permission to read it. */
const O_PATH = 0o10000000;

/** Sets the mode and mtime of an entry, if it still has this inode. */
function change(path: string, ino: string | null, mode: number, mtime: number | null = null): void {
  if (statAt(path) === undefined) return;
  const fd = openSync(path, O_PATH | constants.O_NOFOLLOW);
  try {
    const stats = fstatSync(fd, { bigint: true });
    if (stats.ino.toString() !== ino || stats.isSymbolicLink()) return;
    if (modeOf(stats) !== mode) chmodSync(`/proc/self/fd/${fd}`, mode);
    if (mtime !== null) utimesSync(`/proc/self/fd/${fd}`, mtime, mtime);
  } finally {
    closeSync(fd);
  }
}

/**
 * Reverts the steps of a landing that have happened; idempotent like `apply`. New entries return to the source. Entries that
 * another program has put in their place are kept beside them as `NAME.foreign`.
 */
export async function takeBack(manifest: Manifest, options: ApplyOptions): Promise<void> {
  const happened = new Set<string>();
  using folders = new Folders(manifest.workspace);
  for (const step of manifest.steps) {
    await options.pace.step();
    const target = folders.at(step.path);
    const keep = join(manifest.saved, step.keep);
    const [there, saved] = [statAt(target), statAt(keep)];
    const isWaiting = step.op === 'put' && statAt(join(manifest.source, step.from)) !== undefined;
    if (isWaiting && saved !== undefined && there === undefined) {
      // The old entry was moved aside, and nothing has taken its place yet.
      move(keep, target, saved, step.oldMode);
      options.onStep();
    } else if (isWaiting && saved?.isDirectory() === false && there?.ino === saved.ino) {
      unlinkSync(keep);
    }
    const isDone = step.op === 'put' ? !isWaiting || there?.ino.toString() === step.now : saved !== undefined;
    if (step.op === 'attributes' || isDone) happened.add(step.path);
  }
  const back = inverse(manifest, manifest.source, ({ from }) => from);
  const steps = back.steps.filter(({ path }) => happened.has(path));
  await apply({ ...back, steps }, { ...options, keepsForeign: true });
}

/** True if an interrupted landing can be finished: the entries that it hasn't touched yet are as they were when its row was written. */
export async function canFinish({ workspace, source, saved, steps }: Manifest, pace: Pace): Promise<boolean> {
  using folders = new Folders(workspace);
  for (const step of steps) {
    await pace.step();
    if (step.op === 'attributes' || statAt(join(saved, step.keep)) !== undefined) continue;
    if (step.op === 'put' && statAt(join(source, step.from)) === undefined) continue;
    const there = statAt(folders.at(step.path));
    if (step.old === null ? there !== undefined : there === undefined || !isOld(step, there)) return false;
  }
  return true;
}

const isOld = (step: Step, there: BigIntStats): boolean =>
  there.ino.toString() === step.old &&
  (there.isDirectory() || (Number(there.size) === step.oldSize && Number(there.mtimeNs) / 1e9 === step.oldMtime));

/** Opens folders one by one without following links, so that a swapped link can't lead a rename out of the workspace. */
class Folders implements Disposable {
  readonly #open = new Map<string, number>();
  readonly #root: number;
  /** Descriptors held at once. */
  static readonly #most = 200;

  constructor(root: string) {
    this.#root = openSync(root, constants.O_DIRECTORY | O_PATH);
  }

  /** A path to this entry that is valid until the next call. */
  at(path: string): string {
    if (this.#open.size > Folders.#most) this.#closeAll();
    return `/proc/self/fd/${this.#fd(dirname(path))}/${basename(path)}`;
  }

  #fd(folder: string): number {
    if (folder === '.') return this.#root;
    const known = this.#open.get(folder);
    if (known !== undefined) return known;
    const path = `/proc/self/fd/${this.#fd(dirname(folder))}/${basename(folder)}`;
    const fd = openSync(path, constants.O_DIRECTORY | constants.O_NOFOLLOW | O_PATH);
    this.#open.set(folder, fd);
    return fd;
  }

  #closeAll(): void {
    for (const fd of this.#open.values()) closeSync(fd);
    this.#open.clear();
  }

  [Symbol.dispose](): void {
    this.#closeAll();
    closeSync(this.#root);
  }
}
