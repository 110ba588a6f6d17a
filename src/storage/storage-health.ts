import { backoffMs } from '../util/backoff.ts';
import { sleep, type Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
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
  /** Writes and syncs something small in the home; rejects while the disk does not take it. */
  readonly probe: () => Promise<void>;
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
/** A failure that is not the disk's is tried this often before it is thrown. */
const TRIES = 5;
const RETRY = { firstMs: 500, maxMs: 8_000 };

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
    if (this.#state.state === 'ok') {
      this.#healed = Promise.withResolvers<void>();
      this.#options.log.error(`storage: cannot be written (${kind})`, { reason: errorMessage(thrown) });
      void this.#probe();
    }
    if (this.#state.state !== kind) this.#become(kind, errorMessage(thrown));
    return true;
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
   * disk's is tried again a few times (a busy database, a passing fault) and then thrown: it would never end.
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

  async #probe(): Promise<void> {
    const { clock, log, probe } = this.#options;
    const { signal } = this.#closed;
    for (let tries = 1; !signal.aborted; tries += 1) {
      await sleep(clock, backoffMs(tries, PROBE), signal).catch(() => {});
      if (signal.aborted) return;
      try {
        await probe();
        break;
      } catch (error) {
        const kind = classifyFailure(error);
        if (isStorageTrouble(kind) && kind !== this.#state.state) this.#become(kind, errorMessage(error));
      }
    }
    const seconds = Math.round((clock.now() - this.#state.since) / 1000);
    log.info('storage: can be written again', { seconds });
    this.#become('ok', null);
    this.#healed.resolve();
  }

  #become(state: StorageState['state'], reason: string | null): void {
    this.#state = { state, since: this.#options.clock.now(), reason };
    for (const listener of this.#listeners) listener(this.#state);
  }
}
