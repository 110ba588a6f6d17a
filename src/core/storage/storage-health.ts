import { assistantCommand } from '../util/assistant-command.ts';
import { backoffMs } from '../util/backoff.ts';
import { sleep, type Clock } from '../util/clock.ts';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import { failed, type Finding, sentenceOf } from '../util/finding.ts';
import type { Logger } from '../util/log.ts';
import { classifyFailure, isStorageTrouble, type StorageTrouble } from './storage-failure.ts';

/** Whether the disk of the home takes writes: `ok`, or what is wrong with it. */
export interface StorageState {
  readonly state: 'ok' | StorageTrouble;
  /** Since when, milliseconds since 1970. */
  readonly since: number;
  /** The system's error message; null while all is well. */
  readonly reason: string | null;
}

export interface StorageHealthOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** When the process began, milliseconds since 1970. */
  readonly startedAt: number;
  /** Path of the journal, for the log. */
  readonly journal: string;
  /** Writes and syncs a small file in the home; rejects if that fails or fewer bytes than this are free. */
  readonly probe: (neededBytes: number) => Promise<void>;
}

export interface UntilWrittenOptions {
  /** Ends the waiting; the signal's reason is thrown. */
  readonly signal: AbortSignal;
  /** What is written, as the beginning of a log line, e.g. `delivery: mark`. */
  readonly what: string;
  /** Return false when too much is waiting already: then the failure is thrown. @default always true */
  readonly mayWait?: () => boolean;
  /** How often a write is tried whose failure is not the disk's. @default 5 */
  readonly tries?: number;
}

/** Backoff between two probes of a disk that does not take writes, ms. */
const PROBE_BACKOFF = { firstMs: 1_000, maxMs: 15_000 };
/** An unclear failure is probed before it is reported; after this many ms it is reported without the result. */
const FIRST_PROBE_MS = 2_000;
/** How often a write that fails for another reason than the disk is tried before its error is thrown. */
const TRIES = 5;
/** Backoff between these tries, ms. */
const RETRY_BACKOFF = { firstMs: 500, maxMs: 8_000 };
/** A failure within this many ms of a recovery counts as the same trouble: the probe was too small to see it. */
const RELAPSE_MS = 60_000;
/** Free bytes that a probe requires. They are doubled for a disk that is full again within `RELAPSE_MS`. */
const NEEDED_BYTES = { firstBytes: 128 * 1024, mostBytes: 4 * 1024 * 1024 };

/**
 * Knows whether the home can be written. Failed writes are reported here; while the disk is in trouble it is probed,
 * its listeners are told once, and all writes wait until a probe succeeds, without counting as failed tries. A journal
 * that is damaged stays so: what is written then waits until the process ends, so that nothing is accepted and lost.
 */
export class StorageHealth implements Disposable {
  readonly #options: StorageHealthOptions;
  readonly #listeners = new Set<(state: StorageState) => void>();
  readonly #writeListeners = new Set<(path: string) => void>();
  readonly #closed = new AbortController();
  #state: StorageState;
  #healed = Promise.withResolvers<void>();
  /** The current or last trouble: when it began (ms since 1970, and monotonic), when it ended (monotonic), how often it was probed. */
  #episode = { since: 0, began: 0, over: -Infinity, probes: 0 };
  #neededBytes = NEEDED_BYTES.firstBytes;
  /** Ends the wait for the next probe. */
  #poke = new AbortController();
  /** The first probe of an unclear failure is running: listeners are not told yet. */
  #isLooking = false;

  constructor(options: StorageHealthOptions) {
    this.#options = options;
    this.#state = { state: 'ok', since: options.startedAt, reason: null };
    this.#healed.resolve();
  }

  get state(): StorageState {
    return this.#state;
  }

  /** Calls `listener` at each change of the state. */
  onChange(listener: (state: StorageState) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Calls `listener` with the absolute path of each file that a store of the home wrote, when it is written. */
  onWrote(listener: (path: string) => void): Disposable {
    this.#writeListeners.add(listener);
    return { [Symbol.dispose]: () => void this.#writeListeners.delete(listener) };
  }

  /** Reports a file that was written. */
  wrote(path: string): void {
    for (const listener of this.#writeListeners) listener(path);
  }

  /**
   * Reports a failed write. True if the disk is the cause, which is probed from now on; false for any other failure.
   */
  failed(thrown: unknown): boolean {
    const kind = classifyFailure(thrown);
    if (!isStorageTrouble(kind)) return false;
    if (kind === 'damaged') {
      this.#damaged(errorMessage(thrown));
      return true;
    }
    const needed = needsBytes(thrown);
    const isNew = this.#state.state === 'ok';
    if (isNew) {
      const isRelapse = this.#isRelapse();
      if (!isRelapse) this.#beginEpisode();
      if (isRelapse && kind === 'full') this.#neededBytes = Math.min(2 * this.#neededBytes, NEEDED_BYTES.mostBytes);
      if (!isRelapse) this.#neededBytes = NEEDED_BYTES.firstBytes;
      this.#healed = Promise.withResolvers<void>();
      this.#options.log.error(`storage: cannot be written (${kind})`, { reason: errorMessage(thrown) });
      // Repeating a failed sync proves nothing: only a new process can read what is on the disk.
      if (errorCode(thrown) !== 'sync-failed') void this.#probe({ looksFirst: kind === 'failing' });
    }
    this.#neededBytes = Math.max(this.#neededBytes, needed);
    // SQLite reports every refused write as a failing disk, so `failing` never replaces a kind that is known already.
    if (isNew || (kind !== 'failing' && this.#state.state !== 'damaged' && kind !== this.#state.state))
      this.#become(kind, errorMessage(thrown));
    return true;
  }

  /**
   * Call when a file in the home was not written, which may be the fault of that file or of another disk: probes the
   * disk of the home and, if that fails, reports it as a failed write.
   */
  async look(): Promise<void> {
    if (this.#state.state !== 'ok' || this.#isLooking) return;
    this.#isLooking = true;
    const found = await this.#options.probe(NEEDED_BYTES.firstBytes).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    this.#isLooking = false;
    if (found !== undefined && !this.#closed.signal.aborted) this.failed(found.error);
  }

  /** Call when a write went through although there was trouble: it is probed at once. */
  recovers(): void {
    this.#poke.abort();
  }

  /** Resolves when the disk takes writes; rejects with the signal's reason. */
  async healed(signal: AbortSignal): Promise<void> {
    const waiting = Promise.withResolvers<never>();
    const onAbort = (): void => waiting.reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await Promise.race([this.#healed.promise, waiting.promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /**
   * Repeats `write` until it succeeds. For a disk in trouble it waits as long as necessary. Another failure, such as a
   * busy database, is tried a few times and then thrown. So is an error of the disk that stays although probes succeed,
   * such as one unreadable file; only a full disk is waited for without limit.
   */
  async untilWritten<T>(
    write: () => Promise<T>,
    { signal, what, mayWait, tries: most = TRIES }: UntilWrittenOptions,
  ): Promise<T> {
    for (let tries = 1; ;) {
      try {
        return await write();
      } catch (error) {
        if (signal.aborted || mayWait?.() === false) throw error;
        if (this.failed(error)) {
          await this.healed(signal);
          if (tries === TRIES && classifyFailure(error) !== 'full') throw error;
          if (classifyFailure(error) !== 'full') tries += 1;
          continue;
        }
        this.#options.log.error(`${what}: write failed`, { tries, reason: errorMessage(error) });
        if (tries >= most) throw error;
        await sleep(this.#options.clock, backoffMs(tries, RETRY_BACKOFF), signal);
        tries += 1;
      }
    }
  }

  [Symbol.dispose](): void {
    this.#closed.abort(new Error('the process is stopping'));
    this.#listeners.clear();
  }

  /** Only a person can mend it: nothing is probed any more. */
  #damaged(reason: string): void {
    if (this.#state.state === 'damaged') return;
    if (this.#state.state === 'ok') this.#healed = Promise.withResolvers<void>();
    this.#beginEpisode();
    this.#options.log.error('storage: the journal is damaged', { path: this.#options.journal, reason });
    this.#become('damaged', reason);
  }

  #beginEpisode(): void {
    const { clock } = this.#options;
    this.#episode = { since: clock.now(), began: clock.monotonic(), over: -Infinity, probes: 0 };
  }

  #isRelapse(): boolean {
    return this.#options.clock.monotonic() - this.#episode.over < RELAPSE_MS;
  }

  /** `looksFirst`: probe once before the listeners are told, because the failure did not say what is wrong. */
  async #probe({ looksFirst }: { readonly looksFirst: boolean }): Promise<void> {
    const { clock, log, probe } = this.#options;
    const { signal } = this.#closed;
    const episode = this.#episode;
    if (looksFirst) {
      this.#isLooking = true;
      const look = probe(this.#neededBytes).catch((error: unknown) => this.#isStill(error));
      await Promise.race([look, sleep(clock, FIRST_PROBE_MS, signal).catch(() => {})]);
      this.#isLooking = false;
      this.#tell();
    }
    for (;;) {
      episode.probes += 1;
      this.#poke = new AbortController();
      const wakes = AbortSignal.any([signal, this.#poke.signal]);
      await sleep(clock, backoffMs(episode.probes, PROBE_BACKOFF), wakes).catch(() => {});
      if (signal.aborted || this.#state.state === 'damaged') return;
      try {
        await probe(this.#neededBytes);
        break;
      } catch (error) {
        this.#isStill(error);
      }
    }
    if (signal.aborted || this.#episode !== episode) return;
    episode.over = clock.monotonic();
    log.info('storage: can be written again', { seconds: Math.round((episode.over - episode.began) / 1000) });
    this.#become('ok', null);
    this.#healed.resolve();
  }

  /** A probe failed: its error is more precise than that of the write. */
  #isStill(error: unknown): void {
    const kind = classifyFailure(error);
    const { state } = this.#state;
    if (isStorageTrouble(kind) && kind !== state && state !== 'damaged') this.#become(kind, errorMessage(error));
  }

  #become(state: StorageState['state'], reason: string | null): void {
    const since = state === 'ok' ? this.#options.clock.now() : this.#episode.since;
    this.#state = { state, since, reason };
    if (!this.#isLooking) this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) listener(this.#state);
  }
}

/** How many free bytes a failed write needed, if its error says so; else 0. */
function needsBytes(thrown: unknown): number {
  const needed = thrown instanceof AppError ? thrown.facts['needsBytes'] : undefined;
  return typeof needed === 'number' ? needed : 0;
}

/** What is wrong with the disk or the journal, and the next step; null while all is well. */
export function storageFinding({ state, reason }: StorageState, home: string): Finding | null {
  if (state === 'ok') return null;
  const { id = 'home.disk', what, next } = STORAGE_WORDS[state];
  const why = reason === null ? '' : ` (${reason.replace(/\.$/u, '')})`;
  return { id, ...failed(`${what(home)}${why}.`, next(home)), facts: { state } };
}

/** The same as sentences for a person. */
export function storageSentence(state: StorageState, home: string): string | null {
  const finding = storageFinding(state, home);
  return finding === null ? null : sentenceOf(finding);
}

/** What has to take writes again, within a sentence: `the disk`. */
export function storagePlace({ state }: Pick<StorageState, 'state'>): string {
  if (state === 'no-database') return 'the database';
  return state === 'unreachable' ? 'the store' : 'the disk';
}

const STORAGE_WORDS: Readonly<
  Record<
    StorageTrouble,
    { readonly id?: string; readonly what: (home: string) => string; readonly next: (home: string) => string }
  >
> = {
  full: {
    what: (home) => `The disk of ${home} is full`,
    next: (home) => `Free some space there: df -h ${home} shows how much is left`,
  },
  'read-only': {
    what: (home) => `The disk of ${home} cannot be written`,
    next: (home) =>
      `Make ${home} writable for the assistant: findmnt -T ${home} shows whether its disk is mounted read-only`,
  },
  failing: {
    what: (home) => `The disk of ${home} is failing`,
    next: () => 'Read what the system reports about the disk: dmesg | tail',
  },
  unreachable: {
    what: () => 'The store that conversations are kept in too does not take writes',
    next: () => 'Look after what the plugin writes to. What was not kept there is written again when it works',
  },
  'no-database': {
    id: 'database.connects',
    what: () => 'The database that keeps this home (setting store) takes no writes',
    next: () => `To see what is wrong: ${assistantCommand('doctor')}`,
  },
  // `search.db` is made anew by itself, so that only the journal can keep the assistant from its work.
  damaged: {
    id: 'store.journal',
    what: (home) => `${home}/state.db is damaged`,
    next: () =>
      `To go back to a backup: ${assistantCommand('restore BACKUP')}. Without one, move this file away: conversations and memory are files of their own and stay`,
  },
};
