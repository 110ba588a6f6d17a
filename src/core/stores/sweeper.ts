import { stat } from 'node:fs/promises';
import type { Sweep, SweepReport } from '../journal/retention.ts';
import { sweepFolder, type OldFiles } from '../storage/old-files.ts';
import { sleep } from '../util/clock.ts';
import { isEphemeral } from '../util/ephemeral-session.ts';
import { errorMessage } from '../util/errors.ts';
import type { App } from '../app.ts';
import type { Contributions } from '../extension.ts';

const DAY_MS = 86_400_000;
/** After the start, so that it holds up no one's first message. */
const FIRST_MS = 60_000;
const EVERY_MS = 3_600_000;
/** Slices that hold up the event loop longer are made smaller, milliseconds. */
const SLICE_MS = 1.5;
/** The quickest of so many slices counts: a busy machine holds up single ones, a slow disk all of them. */
const JUDGED = 8;
const FIRST_ROWS = 4;
const MOST_ROWS = 64;
/** Between two slices everything else has its turn: at least as long as the slice took, milliseconds. */
const PAUSE_MS = 1;
/** Files looked at between two pauses. */
const FILES = 20;

/** Tapes of sessions that end by themselves: of tasks of subagents, and of jobs that are gone. */
const TAPES_KEPT_MS = 90 * DAY_MS;
/** Tapes of ephemeral sessions. */
const EPHEMERAL_KEPT_MS = DAY_MS;

interface SweptFolder {
  readonly store: string;
  readonly place: 'media' | 'spill' | 'quarantine' | 'logs' | 'backups';
  readonly keptMs: number;
  /** So many of the newest stay. */
  readonly spared?: number;
}

/** Folders whose files are removed when they have not changed for `keptMs`; `store` is the name shown to people. */
const FOLDERS: readonly SweptFolder[] = [
  { store: 'photos and files', place: 'media', keptMs: 30 * DAY_MS },
  { store: 'long results', place: 'spill', keptMs: 7 * DAY_MS },
  { store: 'damaged data', place: 'quarantine', keptMs: 90 * DAY_MS },
  { store: 'logs', place: 'logs', keptMs: 90 * DAY_MS },
  { store: 'backups', place: 'backups', keptMs: 90 * DAY_MS, spared: 3 },
];
/** Of what commands replaced or removed, for /undo. */
const LANDINGS_KEPT_MS = 90 * DAY_MS;
/** Of the audit log. */
const AUDIT_KEPT_MS = 400 * DAY_MS;

/** Folders that are only measured. */
const MEASURED = { conversations: 'sessions', 'undo copies': 'versions' } as const;

/**
 * Removes what is older than its store keeps it, in slices that no one notices, an hour after the last time. While the
 * disk is in trouble it waits.
 */
export class Sweeper implements AsyncDisposable {
  readonly #app: App;
  readonly #closed = new AbortController();
  #timer: Disposable | undefined;
  /** When parts of prompts were looked through last, which reads tapes from their beginning; by the monotonic clock. */
  #partsAt: number | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(app: App) {
    this.#app = app;
  }

  start(): void {
    this.#plan(FIRST_MS);
  }

  /** What the last sweep did, also one of an earlier process; undefined: there was none. */
  get last(): SweepReport | undefined {
    return this.#app.journal.retention.last();
  }

  /** Sweeps now; resolves when that is done or was stopped. Never rejects. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweepAll().finally(() => {
      this.#sweeping = undefined;
      this.#plan(EVERY_MS);
    });
    return this.#sweeping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new Error('the process is stopping'));
    this.#timer?.[Symbol.dispose]();
    await this.#sweeping;
  }

  #plan(ms: number): void {
    if (this.#closed.signal.aborted) return;
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#app.clock.timer(ms, () => void this.sweep());
  }

  async #sweepAll(): Promise<void> {
    const { clock, log, journal } = this.#app;
    const removed: Record<string, number> = {};
    const bytes: Record<string, number> = {};
    const count = (store: string | null, more: number): void => {
      if (store !== null && more > 0) removed[store] = (removed[store] ?? 0) + more;
    };
    try {
      for (const sweep of journal.retention.sweeps()) count(sweep.store, await this.#rows(sweep));
      for (const folder of FOLDERS) {
        const state = await this.#folder(folder);
        count(folder.store, state.removed);
        bytes[folder.store] = state.bytes;
      }
      count('audit files', await this.#app.audit.prune(clock.now() - AUDIT_KEPT_MS));
      count('conversations', await this.#tapes());
      count('marks of deleted files', await this.#app.marks.sweep(this.#pace()));
      await this.#app.changes.prune(clock.now());
      await this.#app.undone.prune(clock.now());
      const landings = await this.#app.landing.sweep({ before: clock.now() - LANDINGS_KEPT_MS, pace: this.#pace() });
      count('undo copies', landings.removed);
      count('parts of prompts', await this.#parts());
      for (const [store, place] of Object.entries(MEASURED)) {
        bytes[store] = (await sweepFolder(this.#app.paths[place], null)).bytes;
      }
      bytes['undo copies'] = (bytes['undo copies'] ?? 0) + landings.bytes;
      bytes['journal'] = await sizeOf(this.#app.paths.state);
      bytes['search index'] = await sizeOf(this.#app.paths.search);
      await journal.retention.remember({ at: clock.now(), removed, bytes });
      log.debug('sweep: done', removed);
      if (Object.keys(removed).length > 0) log.info('sweep: old data removed', removed);
    } catch (error) {
      if (this.#closed.signal.aborted) return;
      log.warn('sweep: not finished, the next one begins in an hour', { reason: errorMessage(error) });
    }
  }

  /** Slice by slice, each as large as fits into its time. */
  async #rows(sweep: Sweep): Promise<number> {
    const { storage, clock } = this.#app;
    const { signal } = this.#closed;
    const { retention } = this.#app.journal;
    let limit = FIRST_ROWS;
    let pauseMs = PAUSE_MS;
    let blocked: number[] = [];
    for (let total = 0; ;) {
      await storage.healed(signal);
      try {
        const { rows, more, blockedMs } = await retention.slice(sweep, limit);
        total += rows;
        if (!more) return total;
        if (blocked.push(blockedMs) === JUDGED) {
          const tookMs = Math.min(...blocked);
          blocked = [];
          pauseMs = Math.max(PAUSE_MS, tookMs);
          if (tookMs > SLICE_MS) limit = Math.max(1, Math.floor(limit / 2));
          else if (tookMs < SLICE_MS / 2) limit = Math.min(MOST_ROWS, limit * 2);
        }
      } catch (error) {
        if (!storage.failed(error)) throw error;
      }
      await sleep(clock, pauseMs, signal);
    }
  }

  async #folder({ place, keptMs, spared = 0 }: SweptFolder): ReturnType<typeof sweepFolder> {
    const { paths, clock } = this.#app;
    return await sweepFolder(paths[place], { before: clock.now() - keptMs, spared, pace: this.#pace() });
  }

  async #tapes(): Promise<number> {
    const { clock, sessions, journal, program } = this.#app;
    const kinds = Object.assign({}, ...this.#app.plugins.each('sessions').map(([, part]) => part)) as NonNullable<
      Contributions['sessions']
    >;
    const pace = this.#pace();
    let removed = 0;
    for (const { key, changedAt } of await sessions.list()) {
      const kind = key.slice(0, key.indexOf(':'));
      // Conversations of jobs end also while what runs jobs is switched off.
      const isOver = kinds[kind]?.isOver(key) ?? program.origins.of(kind).hasJobs === true;
      const ends = isEphemeral(key) || key.startsWith('subagent:') || isOver;
      const before = clock.now() - (isEphemeral(key) ? EPHEMERAL_KEPT_MS : TAPES_KEPT_MS);
      if (!ends || changedAt >= before || journal.turns.isBusy([key])) continue;
      await pace();
      if (await sessions.remove(key)) removed += 1;
    }
    return removed;
  }

  async #parts(): Promise<number> {
    const now = this.#app.clock.monotonic();
    if (this.#partsAt !== undefined && now - this.#partsAt < DAY_MS) return 0;
    this.#partsAt = now;
    const tapes = this.#app.paths.sessions;
    return (await this.#app.promptParts.prune({ tapes, signal: this.#closed.signal })).files;
  }

  #pace(): OldFiles['pace'] {
    const { storage, clock } = this.#app;
    const { signal } = this.#closed;
    let files = 0;
    return async () => {
      await storage.healed(signal);
      files += 1;
      if (files % FILES === 0) await sleep(clock, PAUSE_MS, signal);
    };
  }
}

async function sizeOf(path: string): Promise<number> {
  return await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}
