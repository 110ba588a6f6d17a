import { closeSync, existsSync, fdatasyncSync, openSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '../util/clock.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { syncDirectory } from './files.ts';

/** A commit that nobody waits for is synced this much later, milliseconds. */
const LAZY_SYNC_MS = 200;

export interface CommitSyncOptions {
  readonly clock: Clock;
  /** Called once, after which nothing becomes durable any more. */
  readonly onFailure: (error: AppError) => void;
  /** All commits up to and including this one are durable. */
  readonly onDurable: (commit: number) => void;
}

interface Waiting {
  readonly commit: number;
  readonly settled: PromiseWithResolvers<void>;
  /** It does not wait for the timer. */
  readonly hurries: boolean;
}

/**
 * Makes SQLite's commits durable: `fdatasync` of the write-ahead log in the thread pool, one at a time. A sync covers
 * the commits before its start, never those during it. After a failed sync the kernel may have dropped the pages, so a
 * second one would prove nothing: `failure` is set for good, and only a new process can read what the disk has.
 */
export class CommitSync {
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

  /** `path`: of the write-ahead log. It has no locks, so opening and closing it beside SQLite is safe. */
  constructor(path: string, options: CommitSyncOptions) {
    this.#path = path;
    this.#options = options;
  }

  /** Why nothing becomes durable any more; undefined while all is well. */
  get failure(): AppError | undefined {
    return this.#failure;
  }

  /** A transaction was committed; returns its number. It is synced within `LAZY_SYNC_MS`, also when nobody waits. */
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
    this.#waiting.push({ commit, settled, hurries: true });
    void this.#sync();
    return settled.promise;
  }

  /** Resolves when all commits so far survive a power loss, without hurrying that; rejects with `sync-failed`. */
  settled(): Promise<void> {
    if (this.#durable >= this.#committed) return Promise.resolve();
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const settled = Promise.withResolvers<void>();
    this.#waiting.push({ commit: this.#committed, settled, hurries: false });
    return settled.promise;
  }

  /** Syncs on the calling thread what is not durable yet. No commit may follow. */
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
    this.#later ??= this.#options.clock.timer(LAZY_SYNC_MS, () => void this.#sync());
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
        // What came meanwhile and nobody is in a hurry for shares a later sync.
        if (!this.#waiting.some(({ hurries }) => hurries)) break;
      }
      if (this.#durable < this.#committed) this.#syncLater();
    } catch (error) {
      if (!this.#closed) this.#fail(error);
    } finally {
      this.#isSyncing = false;
      // It may have been opened while the rest was closed.
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
      `The disk did not confirm a write to ${this.#path}: ${errorMessage(error)}. The assistant has to start anew to read what is really there.`,
      { cause: error },
    );
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { settled } of waiting) settled.reject(this.#failure);
    this.#options.onFailure(this.#failure);
  }
}
