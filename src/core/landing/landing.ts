import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, existsSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Journal } from '../journal/journal.ts';
import type { LandingRecord } from '../journal/landings.ts';
import type { Sandbox } from '../security/enclosure/sandbox.ts';
import { deadline, type Clock } from '../util/clock.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { Slots } from '../util/slots.ts';
import { apply, canFinish, inverse, takeBack, type Manifest, type Step } from './apply.ts';
import type { KeptLanding, Landing, LandingProbe, UndoneLanding } from './contract.ts';
import { probeViews, obstacle } from './self-test.ts';
import { existingStores } from './store.ts';
import { measure, NotLandable, Pace, statAt } from './tree.ts';
import { OpenView } from './open-view.ts';
import { makeLayers, momentIn, removeTree, viewPrograms } from './view.ts';

export interface LandingOptions {
  readonly workspace: string;
  readonly home: string;
  readonly journal: Pick<Journal, 'landings'>;
  /** Null: commands run without one, so there are no views. */
  readonly sandbox: Pick<Sandbox, 'probe'> | null;
  /** Changes to these paths need approval. Relative to the workspace. */
  readonly protectedPlaces: readonly string[];
  readonly clock: Clock;
  readonly newId: () => string;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Limit for all undo copies together. @default 2 GiB */
  readonly quotaBytes?: number;
  /** Called after each change on disk, so that tests can end the process there. */
  readonly onStep?: () => void;
}

const GIB = 1024 ** 3;
const LOCK_MS = 60_000;
/** Younger undo copies never make room for others: whoever fills the store can't take back the chance to undo. */
const RECENT_MS = 7 * 86_400_000;
/** Above this many entries, the whole file system is synced instead of each one. */
const SYNCED_SINGLY = 32;

/** Landings in one workspace. */
export function createLanding(options: LandingOptions): WorkspaceLanding {
  return new WorkspaceLanding(options);
}

export class WorkspaceLanding implements Landing {
  readonly options: LandingOptions;
  readonly quotaBytes: number;
  readonly onStep: () => void;
  readonly #lock = new Slots(1);
  #tested: ReturnType<typeof probeViews> | undefined;

  constructor(options: LandingOptions) {
    this.options = options;
    this.quotaBytes = options.quotaBytes ?? 2 * GIB;
    this.onStep = options.onStep ?? (() => {});
  }

  async probe(): Promise<LandingProbe> {
    return obstacle(this.options.workspace) ?? (await (this.#tested ??= probeViews(this.options)));
  }

  async open({ signal, mostBytes = 2 * GIB }: Parameters<Landing['open']>[0]): Promise<OpenView> {
    const found = await this.probe();
    signal.throwIfAborted();
    const store = (await this.#tested)?.store;
    if (!found.available || store === undefined)
      throw new AppError(
        'no-view',
        `There's no copy-on-write view${found.available ? '' : ` because ${found.reason}`}.`,
      );
    const id = this.options.newId();
    const layers = await makeLayers(join(store, id), realpathSync(this.options.workspace), this.options.clock);
    return new OpenView(this, { id, layers, mostBytes });
  }

  async recover(): Promise<void> {
    const { journal, log, home } = this.options;
    try {
      const workspace = realpathSync(this.options.workspace);
      for (const record of journal.landings.unfinished()) {
        try {
          await this.#finish(record, workspace);
        } catch (error) {
          const reason = errorMessage(error);
          log.error('landing: recovery of one failed; the next start tries again', { id: record.id, reason });
        }
      }
      // A folder without a row never landed, and its process has ended.
      const known = journal.landings.ages();
      for (const store of existingStores(home, workspace)) {
        for (const id of readdirSync(store).filter((name) => !known.has(name))) await this.discard(join(store, id));
      }
    } catch (error) {
      log.error('landing: recovery failed', { reason: errorMessage(error) });
    }
  }

  async undo(id: string, signal: AbortSignal): Promise<UndoneLanding> {
    const { journal, newId, clock } = this.options;
    using _lock = await this.lock(signal);
    const record = journal.landings.get(id);
    const folder = this.#folderOf(id);
    if (record?.state !== 'landed' || !record.isKept || folder === undefined)
      return { undone: false, reason: 'its undo copies are gone', changed: [] };
    const workspace = realpathSync(this.options.workspace);
    const own = newId();
    const back = inverse(manifestIn(folder, workspace, record.steps), join(dirname(folder), own, 'saved'));
    try {
      const changed = await this.#changedSince(record, back, new Pace(clock, signal));
      if (changed.length > 0) return { undone: false, reason: 'its files have changed since', changed };
    } catch (error) {
      if (!(error instanceof NotLandable)) throw error;
      return { undone: false, reason: error.message, changed: [] };
    }
    mkdirSync(back.saved, { recursive: true, mode: 0o700 });
    const rest = { undoes: id, undoBytes: 0, isKept: false, command: '', paths: record.paths };
    const reason = await this.applyRow({ ...record, ...rest, id: own }, back, () => {});
    if (reason !== undefined) return { undone: false, reason, changed: [] };
    await this.discard(folder);
    return { undone: true, paths: record.paths };
  }

  ofTurn(session: string, turn: string): readonly KeptLanding[] {
    return this.options.journal.landings
      .ofTurn(session, turn)
      .filter(({ state }) => state === 'landed' || state === 'undone')
      .map(({ id, at, callId, command, paths, state, isKept }) => {
        const canUndo = isKept && this.#folderOf(id) !== undefined;
        const shown = state === 'undone' ? state : canUndo ? 'landed' : 'not-undoable';
        return { id, at, session, turn, callId, command, paths, state: shown };
      });
  }

  async sweep({ before, pace }: Parameters<Landing['sweep']>[0]): ReturnType<Landing['sweep']> {
    const { journal, clock } = this.options;
    const { landings } = journal;
    let removed = 0;
    for (const [id, at] of landings.ages()) {
      await pace();
      const isOld = at < before;
      const isInTheWay = at < clock.now() - RECENT_MS && landings.keptBytes() > this.quotaBytes / 2;
      if (!isOld && !isInTheWay) continue;
      const record = landings.get(id);
      if (record === undefined || record.state === 'landing' || record.state === 'taking-back') continue;
      const folder = this.#folderOf(id);
      if (folder !== undefined) await this.discard(folder);
      if (isOld) await landings.remove(id);
      else if (record.isKept) await landings.lose(id);
      if (isOld || record.isKept) removed += 1;
    }
    return { removed, bytes: landings.keptBytes() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A landing that has begun is finished.
    (await this.#lock.hold())[Symbol.dispose]();
  }

  /** Takes the workspace's lock. Rejects after a minute, or with the signal's reason. */
  async lock(signal: AbortSignal): Promise<Disposable> {
    using late = deadline(this.options.clock, LOCK_MS, 'the wait for the workspace');
    return await this.#lock.hold(AbortSignal.any([signal, late.signal]));
  }

  /** Writes the row, applies the steps and records the end. Returns why everything was reverted (a clause), if it was. Hold the lock. */
  async applyRow(
    record: Omit<LandingRecord, 'at' | 'state' | 'steps' | 'begunNs' | 'doneNs'>,
    manifest: Manifest,
    also: () => void,
  ): Promise<string | undefined> {
    const { journal, clock, log } = this.options;
    const folder = dirname(manifest.saved);
    const begunNs = await momentIn(folder, clock);
    const steps = JSON.stringify(manifest.steps);
    const row: LandingRecord = { ...record, at: clock.now(), state: 'landing', steps, begunNs, doneNs: null };
    this.onStep();
    await journal.landings.begin(row, also);
    this.onStep();
    try {
      await apply(manifest, { pace: new Pace(clock), onStep: this.onStep });
    } catch (error) {
      log.warn('landing: reverted', { id: row.id, reason: errorMessage(error) });
      await this.#takeBack(row, manifest);
      return errorMessage(error);
    }
    await this.#done(row, manifest);
    return undefined;
  }

  /** Makes files and folders durable: a few one by one, more by syncing the file system of `within`. */
  async sync(paths: ReadonlySet<string>, within: string): Promise<void> {
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const singly = async (): Promise<boolean> => {
      for (const path of paths) {
        await using handle = await open(path, flags);
        await handle.sync();
      }
      return true;
    };
    if (paths.size <= SYNCED_SINGLY && (await singly().catch(() => false))) return;
    const programs = viewPrograms();
    const sync = spawn(typeof programs === 'string' ? 'sync' : (programs.get('sync') ?? ''), ['-f', within], {
      stdio: 'ignore',
    });
    const [code] = (await once(sync, 'close')) as [number | null];
    if (code !== 0) throw new AppError('no-view', "the disk didn't confirm the new files");
  }

  /** Removes a folder of the store. Never rejects: the next start removes what couldn't be removed. */
  async discard(folder: string): Promise<void> {
    try {
      await removeTree(folder);
    } catch (error) {
      this.options.log.warn('landing: folder not removed', { folder, reason: errorMessage(error) });
    }
  }

  async #done(row: LandingRecord, manifest: Manifest): Promise<void> {
    const { journal, clock } = this.options;
    const folder = dirname(manifest.saved);
    const parents = new Set(manifest.steps.map(({ path }) => join(manifest.workspace, dirname(path))));
    await this.sync(new Set([manifest.saved, ...parents]), folder);
    this.onStep();
    await journal.landings.set(row, 'landed', await momentIn(folder, clock));
    this.onStep();
    if (!row.isKept) await this.discard(folder);
    else for (const part of ['upper', 'work', 'merged', 'lower']) await this.discard(join(folder, part));
  }

  async #takeBack(row: LandingRecord, manifest: Manifest): Promise<void> {
    const { journal, clock } = this.options;
    await journal.landings.set(row, 'taking-back');
    this.onStep();
    await takeBack(manifest, { pace: new Pace(clock), onStep: this.onStep });
    const parents = new Set(manifest.steps.map(({ path }) => join(manifest.workspace, dirname(path))));
    await this.sync(parents, manifest.source);
    await journal.landings.set(row, 'taken-back');
  }

  async #finish(record: LandingRecord, workspace: string): Promise<void> {
    const { journal, log, clock } = this.options;
    const folder = this.#folderOf(record.id);
    const origin = record.undoes === null ? undefined : this.#folderOf(record.undoes);
    if (folder === undefined || (record.undoes !== null && origin === undefined)) {
      log.error('landing: folder of an unfinished landing is gone', {
        id: record.id,
        paths: record.paths.slice(0, 10),
      });
      await journal.landings.set(record, 'lost');
      return;
    }
    const base = manifestIn(folder, workspace, record.steps);
    const manifest = origin === undefined ? base : { ...base, source: join(origin, 'saved') };
    const goesOn = record.state === 'landing' && (await canFinish(manifest, new Pace(clock)));
    if (goesOn) {
      await apply(manifest, { pace: new Pace(clock), keepsForeign: true, onStep: this.onStep });
      await this.#done(record, manifest);
      if (origin !== undefined) await this.discard(origin);
    } else {
      await this.#takeBack(record, manifest);
    }
    log.info('landing: interrupted landing finished', { id: record.id, landed: goesOn });
  }

  /** Paths that have changed since the landing, other than by a later undo. */
  async #changedSince({ id, doneNs }: LandingRecord, back: Manifest, pace: Pace): Promise<readonly string[]> {
    const undos = this.options.journal.landings.undosAfter(id);
    const isOwn = (ns: bigint): boolean => ns <= (doneNs ?? 0n) || undos.some(({ from, to }) => from <= ns && ns <= to);
    const changed: string[] = [];
    for (const step of back.steps) {
      await pace.step();
      const there = statAt(join(back.workspace, step.path));
      const isSame = there === undefined ? step.old === null : there.ino.toString() === step.old;
      if (!isSame || statAt(dirname(join(back.workspace, step.path))) === undefined) changed.push(step.path);
      else if (there !== undefined && !(step.op === 'attributes' && step.oldIsFolder)) {
        const facts = await measure(back.workspace, step.path, pace, isOwn);
        if (facts !== undefined && facts.newestNs > 0n) changed.push(facts.newest);
      }
    }
    return changed;
  }

  #folderOf(id: string): string | undefined {
    const { home } = this.options;
    const workspace = realpathSync(this.options.workspace);
    return existingStores(home, workspace)
      .map((store) => join(store, id))
      .find((folder) => existsSync(join(folder, 'saved')));
  }
}

/** The manifest of a row. Paths are made anew, because a restored home may be in another place. */
function manifestIn(folder: string, workspace: string, steps: string): Manifest {
  const source = join(folder, 'upper');
  return { workspace, source, saved: join(folder, 'saved'), steps: JSON.parse(steps) as Step[] };
}
