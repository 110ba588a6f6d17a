import { closeSync, existsSync, fdatasyncSync, openSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { syncDirectory } from './files.ts';

/** What no one waits for is made durable after this many ms. */
export const LAZY_MS = 200;

export interface WatermarkListeners {
  /** Called once, when nothing becomes durable any more. */
  readonly onFailure: (error: AppError) => void;
  /** Called when all commits up to and including this one are durable. */
  readonly onDurable: (commit: number) => void;
}

export interface CommitSyncOptions extends WatermarkListeners {
  readonly clock: Clock;
}

/**
 * Makes commits durable, in their order, and says up to which they are. What leaves the process waits for it. `CommitSync` does
 * it by the disk.
 */
export interface CommitWatermark {
  /** After this nothing becomes durable; undefined while all is well. */
  readonly failure: AppError | undefined;
  /** Called within each transaction, right before its commit. */
  committing?(): void;
  /** Call after each commit; returns its number, 1 for the first. It becomes durable soon even if no one waits for it. */
  committed(): number;
  /** Resolves when this commit is durable; rejects with `failure`. */
  durable(commit: number): Promise<void>;
  /** Resolves when all commits so far are durable, without hurrying them; rejects with `failure`. */
  settled(): Promise<void>;
  /** No commit may follow; the database is still open. */
  close(): void;
}

interface Waiting {
  readonly commit: number;
  readonly settled: PromiseWithResolvers<void>;
  /** Syncs at once instead of waiting for the timer. */
  readonly isUrgent: boolean;
}

/**
 * Makes SQLite's commits durable: `fdatasync` of the write-ahead log in the thread pool, one at a time. A sync covers
 * the commits before its start. After a failed sync the kernel may have dropped the pages, so a second sync would prove
 * nothing: `failure` stays set, and only a new process can read what is on the disk.
 */
export class CommitSync implements CommitWatermark {
  readonly #path: string;
  readonly #options: CommitSyncOptions;
  #waiting: Waiting[] = [];
  #handle: FileHandle | undefined;
  #committed = 0;
  #durable = 0;
  #isSyncing = false;
  #closed = false;
  #later: Disposable | undefined;
  #failure: AppError | undefined;

  /** `path`: the write-ahead log. SQLite holds no locks on it, so opening and closing it here is safe. */
  constructor(path: string, options: CommitSyncOptions) {
    this.#path = path;
    this.#options = options;
  }

  /** The failed sync after which nothing becomes durable; undefined while all is well. */
  get failure(): AppError | undefined {
    return this.#failure;
  }

  /** Call after each commit; returns its number. A sync begins within `LAZY_MS` even if no one waits for it. */
  committed(): number {
    this.#committed += 1;
    this.#syncLater();
    return this.#committed;
  }

  /** Resolves when this commit survives a power loss; rejects with `sync-failed` when it may not. */
  durable(commit: number): Promise<void> {
    if (commit <= this.#durable) return Promise.resolve();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const settled = Promise.withResolvers<void>();
    this.#waiting.push({ commit, settled, isUrgent: true });
    void this.#sync();
    return settled.promise;
  }

  /**
   * Resolves when all commits so far survive a power loss; does not start a sync by itself. Rejects with `sync-failed`.
   */
  settled(): Promise<void> {
    if (this.#durable >= this.#committed) return Promise.resolve();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const settled = Promise.withResolvers<void>();
    this.#waiting.push({ commit: this.#committed, settled, isUrgent: false });
    return settled.promise;
  }

  /** Syncs the remaining commits on the calling thread. No commit may follow. */
  close(): void {
    this.#closed = true;
    this.#later?.[Symbol.dispose]();
    this.#handle?.close().catch(() => {});
    if (this.#durable === this.#committed || this.#failure !== undefined || !existsSync(this.#path)) return;
    try {
      const file = openSync(this.#path, 'r');
      try {
        fdatasyncSync(file);
      } finally {
        closeSync(file);
      }
      this.#reached(this.#committed);
    } catch (error) {
      this.#fail(error);
    }
  }

  #syncLater(): void {
    this.#later ??= this.#options.clock.timer(LAZY_MS, () => void this.#sync());
  }

  async #sync(): Promise<void> {
    if (this.#isSyncing || this.#closed || this.#failure !== undefined) return;
    this.#isSyncing = true;
    try {
      while (this.#durable < this.#committed && !this.#closed) {
        this.#later?.[Symbol.dispose]();
        this.#later = undefined;
        this.#handle ??= await this.#open();
        const upTo = this.#committed;
        await this.#handle.datasync();
        this.#reached(upTo);
        // Commits made meanwhile that no one urgently waits for share a later sync.
        if (!this.#waiting.some(({ isUrgent }) => isUrgent)) break;
      }
      if (this.#durable < this.#committed) this.#syncLater();
    } catch (error) {
      if (!this.#closed) this.#fail(error);
    } finally {
      this.#isSyncing = false;
      // `close` may have run while the file was being opened.
      if (this.#closed) this.#handle?.close().catch(() => {});
    }
  }

  async #open(): Promise<FileHandle> {
    const handle = await open(this.#path, 'r');
    await syncDirectory(dirname(this.#path));
    return handle;
  }

  #reached(commit: number): void {
    if (commit <= this.#durable) return;
    this.#durable = commit;
    const settled = this.#waiting.filter((waiting) => waiting.commit <= commit);
    this.#waiting = this.#waiting.filter((waiting) => waiting.commit > commit);
    this.#options.onDurable(commit);
    for (const waiting of settled) waiting.settled.resolve();
  }

  #fail(error: unknown): void {
    this.#failure = new AppError(
      'sync-failed',
      `The disk did not confirm a write to ${this.#path}: ${errorMessage(error)}.`,
      { cause: error },
    );
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { settled } of waiting) settled.reject(this.#failure);
    this.#options.onFailure(this.#failure);
  }
}
