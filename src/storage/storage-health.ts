import { backoffMs } from '../util/backoff.ts';
import { sleep, type Clock } from '../util/clock.ts';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import { classifyFailure, isStorageTrouble, type StorageTrouble } from './storage-failure.ts';

/** How the disk under the home is: `ok`, or what keeps it from being written. */
export interface StorageState {
  readonly state: 'ok' | StorageTrouble;
  /** Since when, milliseconds since 1970. */
  readonly since: number;
  /** What the system said; null while all is well. */
  readonly reason: string | null;
}

export interface StorageHealthOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** When the process began, milliseconds since 1970. */
  readonly startedAt: number;
  /** Writes and syncs something small in the home; rejects while the disk does not take it or has less room than this. */
  readonly probe: (neededBytes: number) => Promise<void>;
}

export interface UntilWrittenOptions {
  /** Ends the waiting; its reason is thrown. */
  readonly signal: AbortSignal;
  /** What is written, for the log, e.g. `delivery: mark`. */
  readonly what: string;
  /** False when too much waits already: the failure is thrown. @default always true */
  readonly mayWait?: () => boolean;
  /** How often a failure that is not the disk's is tried. @default 5 */
  readonly tries?: number;
}

/** The disk is looked at again this often while it does not take writes, milliseconds. */
const PROBE = { firstMs: 1_000, maxMs: 15_000 };
/** A disk whose failure is not clear is looked at before it is told; one that hangs longer, milliseconds, is told as it is. */
const LOOK_MS = 2_000;
/** A failure that is not the disk's is tried this often before it is thrown. */
const TRIES = 5;
const RETRY = { firstMs: 500, maxMs: 8_000 };
/** Trouble this soon after the disk took writes again is the same trouble: the probe saw too little of it. */
const RELAPSE_MS = 60_000;
/** Room that the probe asks for. A disk that is full again at once is asked for more, up to this. */
const NEEDED_BYTES = { firstBytes: 128 * 1024, mostBytes: 16 * 1024 * 1024 };

/**
 * The one place that knows whether the home can be written. Whoever fails to write reports it here; trouble of the disk
 * is waited out by all, told once, probed, and over as soon as a write works. Nothing of it counts as a failed try.
 */
export class StorageHealth implements Disposable {
  readonly #options: StorageHealthOptions;
  readonly #listeners = new Set<(state: StorageState) => void>();
  readonly #closed = new AbortController();
  #state: StorageState;
  #healed = Promise.withResolvers<void>();
  /** The newest time of trouble: when it began, when it was over (monotonic), and how often it was looked at. */
  #episode = { since: 0, over: -Infinity, probes: 0 };
  #neededBytes = NEEDED_BYTES.firstBytes;
  /** Nobody is told yet, see `#probe`. */
  #isLooking = false;

  constructor(options: StorageHealthOptions) {
    this.#options = options;
    this.#state = { state: 'ok', since: options.startedAt, reason: null };
    this.#healed.resolve();
  }

  get state(): StorageState {
    return this.#state;
  }

  /** Calls back at each change of the state. */
  onChange(listener: (state: StorageState) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** A write failed. True when that is the disk's trouble, which is now known and probed; false for any other failure. */
  failed(thrown: unknown): boolean {
    const kind = classifyFailure(thrown);
    if (!isStorageTrouble(kind)) return false;
    const needed = needsBytes(thrown);
    const isNew = this.#state.state === 'ok';
    if (isNew) {
      const isRelapse = this.#isRelapse();
      if (!isRelapse) this.#episode = { since: this.#options.clock.now(), over: -Infinity, probes: 0 };
      if (isRelapse && kind === 'full') this.#neededBytes = Math.min(2 * this.#neededBytes, NEEDED_BYTES.mostBytes);
      if (!isRelapse) this.#neededBytes = NEEDED_BYTES.firstBytes;
      this.#healed = Promise.withResolvers<void>();
      this.#options.log.error(`storage: cannot be written (${kind})`, { reason: errorMessage(thrown) });
      // A sync that failed proves nothing when it is repeated: only a new process can tell what is on the disk.
      if (errorCode(thrown) !== 'sync-failed') void this.#probe({ looksFirst: kind === 'failing' });
    }
    this.#neededBytes = Math.max(this.#neededBytes, needed);
    // SQLite calls every refused write a failing disk, so that says nothing about a trouble whose kind is known.
    if (isNew || (kind !== 'failing' && kind !== this.#state.state)) this.#become(kind, errorMessage(thrown));
    return true;
  }

  /**
   * Something in the home was not written, which may be the fault of that one file or of another disk: looks at the disk
   * under the home, and takes what it finds for a failed write.
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

  /** Resolves as soon as the disk takes writes; rejects with the signal's reason. */
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
   * Writes until it is written. While the disk is in trouble it waits as long as that takes. A failure that is not the
   * disk's is tried again a few times (a busy database, a passing fault) and then thrown: it would never end. So is one
   * that stays while the disk takes everything else, such as one unreadable file; only room is always waited for.
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
        await sleep(this.#options.clock, backoffMs(tries, RETRY), signal);
        tries += 1;
      }
    }
  }

  [Symbol.dispose](): void {
    this.#closed.abort(new Error('the process is stopping'));
    this.#listeners.clear();
  }

  #isRelapse(): boolean {
    return this.#options.clock.monotonic() - this.#episode.over < RELAPSE_MS;
  }

  /** `looksFirst`: the disk is looked at once before anybody is told, because the failure did not say what is wrong. */
  async #probe({ looksFirst }: { readonly looksFirst: boolean }): Promise<void> {
    const { clock, log, probe } = this.#options;
    const { signal } = this.#closed;
    const episode = this.#episode;
    if (looksFirst) {
      this.#isLooking = true;
      const look = probe(this.#neededBytes).catch((error: unknown) => this.#isStill(error));
      await Promise.race([look, sleep(clock, LOOK_MS, signal).catch(() => {})]);
      this.#isLooking = false;
      this.#tell();
    }
    for (;;) {
      episode.probes += 1;
      await sleep(clock, backoffMs(episode.probes, PROBE), signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await probe(this.#neededBytes);
        break;
      } catch (error) {
        this.#isStill(error);
      }
    }
    if (signal.aborted) return;
    episode.over = clock.monotonic();
    log.info('storage: can be written again', { seconds: Math.round((clock.now() - episode.since) / 1000) });
    this.#become('ok', null);
    this.#healed.resolve();
  }

  /** A probe failed: what it says is more than what a write said. */
  #isStill(error: unknown): void {
    const kind = classifyFailure(error);
    if (isStorageTrouble(kind) && kind !== this.#state.state) this.#become(kind, errorMessage(error));
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

/** How much room a failed write would have needed, when it knew. */
function needsBytes(thrown: unknown): number {
  const needed = thrown instanceof AppError ? thrown.facts['needsBytes'] : undefined;
  return typeof needed === 'number' ? needed : 0;
}

/** What is wrong with the disk, for a person: what happened, what it means, and the next step. Null while all is well. */
export function storageSentence({ state, reason }: StorageState, home: string): string | null {
  if (state === 'ok') return null;
  return `${STORAGE_WORDS[state].what(home)}${reason === null ? '' : ` (${reason.replace(/\.$/u, '')})`}. ${STORAGE_WORDS[state].next(home)}`;
}

const STORAGE_WORDS: Readonly<
  Record<StorageTrouble, { readonly what: (home: string) => string; readonly next: (home: string) => string }>
> = {
  full: {
    what: (home) => `The disk under ${home} is full`,
    next: (home) => `Free some room there: df -h ${home} shows how much is left.`,
  },
  'read-only': {
    what: (home) => `The disk under ${home} cannot be written`,
    next: (home) =>
      `Make ${home} writable for the assistant: findmnt -T ${home} shows whether its disk is mounted read-only.`,
  },
  failing: {
    what: (home) => `The disk under ${home} fails`,
    next: () => 'Look at what the system says about the disk: dmesg | tail.',
  },
};
