import { mkdirSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Mount } from '../security/enclosure/enclosure.ts';
import { errorMessage } from '../util/errors.ts';
import { manifestOf } from './apply.ts';
import { findChanges, type ChangeSet } from './changes.ts';
import { conflicts } from './conflicts.ts';
import type { ChangedPath, Changes, LandingResult, LandOptions, NeedsApproval, View } from './contract.ts';
import type { WorkspaceLanding } from './landing.ts';
import { measure, namesIn, NotLandable, Pace } from './tree.ts';
import { mountMerged, mountsOver, mountWords, viewPrograms, type Layers, type Merged } from './view.ts';

const LOOK_MS = 500;
const NOTHING: ChangeSet = { changes: [], paths: [], bytes: 0, undoBytes: 0, fingerprint: '' };
/** The model is told at most this many conflicts. */
const SHOWN = 5;

export interface OpenViewOptions {
  readonly id: string;
  readonly layers: Layers;
  readonly mostBytes: number;
}

export class OpenView implements View {
  readonly mount: View['mount'];
  readonly #landing: WorkspaceLanding;
  readonly #options: OpenViewOptions;
  readonly #programs: ReadonlyMap<string, string>;
  #merged: Merged | undefined;
  #hasRow = false;

  constructor(landing: WorkspaceLanding, options: OpenViewOptions) {
    const programs = viewPrograms();
    this.#programs = typeof programs === 'string' ? new Map() : programs;
    this.#landing = landing;
    this.#options = options;
    this.mount = { around: mountWords(options.layers, this.#programs) };
  }

  over(mounts: readonly Mount[]): readonly Mount[] {
    return mountsOver(this.#options.layers, mounts);
  }

  watch(onFull: () => void): Disposable {
    const { clock } = this.#landing.options;
    const { layers, mostBytes } = this.#options;
    const free = (): number => {
      const { bavail, bsize } = statfsSync(layers.folder);
      return bavail * bsize;
    };
    const before = free();
    const closed = new AbortController();
    let timer: Disposable | undefined;
    const look = async (): Promise<void> => {
      // Free disk space is a cheap hint that the view can't be full yet.
      const isPossible = before - free() > mostBytes / 2;
      const held = isPossible ? await measure(layers.folder, 'upper', new Pace(clock, closed.signal)) : undefined;
      if (closed.signal.aborted) return;
      if ((held?.bytes ?? 0) > mostBytes) onFull();
      else plan();
    };
    /** An entry went away while it was measured, or it can't be measured: then the disk alone tells. */
    const lookAgain = (): void => {
      if (closed.signal.aborted) return;
      if (before - free() > mostBytes) onFull();
      else plan();
    };
    const plan = (): void => {
      timer = clock.timer(LOOK_MS, () => void look().catch(lookAgain));
    };
    plan();
    return {
      [Symbol.dispose]: () => {
        closed.abort();
        timer?.[Symbol.dispose]();
      },
    };
  }

  async land({ judge, commit, busyFolders, signal, ...row }: LandOptions): Promise<LandingResult> {
    const { clock } = this.#landing.options;
    const { id, layers, mostBytes } = this.#options;
    try {
      const first = await this.#list(signal);
      const shown = this.#shown(first);
      if (first.changes.length === 0) return { landed: { paths: [], canUndo: true } };
      if (first.bytes > mostBytes) throw new NotLandable(`it wrote ${first.bytes} bytes, more than ${mostBytes}`);
      const verdict = await judge(shown, signal, false);
      if (!verdict.lands) return { notLanded: verdict.reason };
      using _lock = await this.#landing.lock(signal);
      const set = await this.#list(signal);
      const pace = new Pace(clock, signal);
      const found = await conflicts(layers, set.changes, { clock, pace, busyFolders: busyFolders() });
      if (found.length > 0) return { notLanded: conflictSentence(found) };
      if (set.fingerprint !== first.fingerprint) return { notLanded: conflictSentence(['its files have changed']) };
      const canUndo = this.#fits(set);
      if (!canUndo && shown.needsApproval.every(({ why }) => why !== 'no-undo'))
        return { notLanded: conflictSentence(['the undo store is full now']) };
      const now = await judge(this.#shown(set), signal, true);
      if (!now.lands) return { notLanded: now.reason };
      await this.#unmount();
      const upper = join(layers.folder, 'upper');
      const files = set.paths.filter(({ how, kind }) => kind === 'file' && (how === 'added' || how === 'changed'));
      const fresh = files.flatMap(({ path }) => [join(upper, path), dirname(join(upper, path))]);
      await this.#landing.sync(new Set(fresh), upper);
      const saved = join(layers.folder, 'saved');
      mkdirSync(saved, { mode: 0o700 });
      const manifest = await manifestOf(set.changes, { workspace: layers.workspace, source: upper, saved }, pace);
      signal.throwIfAborted();
      this.#hasRow = true;
      const { paths, undoBytes } = set;
      const record = { ...row, id, undoes: null, paths: paths.map(({ path }) => path), undoBytes, isKept: canUndo };
      const failure = await this.#landing.applyRow(record, manifest, () => commit(shown));
      if (failure !== undefined) return { notLanded: conflictSentence([failure]) };
      return { landed: { id, paths, canUndo } };
    } catch (error) {
      if (signal.aborted && !this.#hasRow) throw signal.reason;
      return { notLanded: `None of the command's changes were kept because ${errorMessage(error)}.` };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#unmount();
    if (!this.#hasRow) await this.#landing.discard(this.#options.layers.folder);
  }

  async #list(signal: AbortSignal): Promise<ChangeSet> {
    const { layers } = this.#options;
    const folder = join(layers.folder, 'upper');
    if (namesIn(folder).length === 0) return NOTHING;
    this.#merged ??= await mountMerged(layers, this.#programs);
    const pace = new Pace(this.#landing.options.clock, signal);
    return await findChanges({ upper: folder, lower: layers.workspace, merged: this.#merged.path }, pace);
  }

  async #unmount(): Promise<void> {
    await this.#merged?.[Symbol.asyncDispose]();
    this.#merged = undefined;
  }

  #fits({ undoBytes }: ChangeSet): boolean {
    const { options, quotaBytes } = this.#landing;
    return undoBytes + options.journal.landings.keptBytes() <= quotaBytes;
  }

  #shown(set: ChangeSet): Changes {
    const { layers } = this.#options;
    return {
      paths: set.paths,
      marks: marksOf(set.paths),
      needsApproval: this.#questions(set),
      after: (path) => join(layers.folder, 'upper', path),
      before: (path) => join(layers.workspace, path),
      root: this.#merged?.path ?? '',
    };
  }

  #questions(set: ChangeSet): readonly NeedsApproval[] {
    const { protectedPlaces } = this.#landing.options;
    const shielded = set.paths.filter(({ path, how }) =>
      protectedPlaces.some(
        (place) => path === place || path.startsWith(`${place}/`) || (how !== 'added' && place.startsWith(`${path}/`)),
      ),
    );
    const setId = set.paths.filter(
      ({ how, kind, mode }) => how !== 'removed' && kind === 'file' && (mode & 0o6000) !== 0,
    );
    const lost = this.#fits(set) ? [] : set.paths.filter(({ how }) => how === 'removed' || how === 'changed');
    const all: readonly (readonly [NeedsApproval['why'], readonly ChangedPath[], string])[] = [
      ['protected', shielded, 'It changes protected files of the assistant.'],
      ['set-id', setId, "It makes programs that run with their owner's or group's rights (setuid or setgid)."],
      ['no-undo', lost, `/undo couldn't bring these back: their ${set.undoBytes} bytes don't fit into the undo store.`],
    ];
    return all.flatMap(([why, paths, sentence]) =>
      paths.length === 0 ? [] : [{ why, sentence, paths: paths.map(({ path }) => path) }],
    );
  }
}

/** What to mark. An added folder's mark covers its entries. */
function marksOf(paths: readonly ChangedPath[]): Changes['marks'] {
  const folders = new Set(
    paths.filter(({ how, kind }) => how === 'added' && kind === 'folder').map(({ path }) => path),
  );
  const isCovered = (path: string): boolean => {
    for (let at = dirname(path); at !== '.'; at = dirname(at)) if (folders.has(at)) return true;
    return false;
  };
  return paths
    .filter(({ path, how }) => (how === 'added' || how === 'changed') && !isCovered(path))
    .map(({ path, kind }) => ({ path, isFolder: kind === 'folder' }));
}

function conflictSentence(found: readonly string[]): string {
  const list = found.slice(0, SHOWN).join('; ') + (found.length > SHOWN ? `; and ${found.length - SHOWN} more` : '');
  return `None of the command's changes were kept because the workspace changed while it ran (${list}). Run the command again.`;
}
