import { Worker } from 'node:worker_threads';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { DatabaseWatch } from './database-watch.ts';
import { runnableFile } from '../util/runnable-file.ts';

/** Estimated pages that a commit adds to the log, and pages for each row that it changes. */
const PAGES_OF_COMMIT = 4;
const PAGES_OF_ROW = 0.5;
/** Estimated pages between two checkpoints: the log grows to about 8 MB. */
const CHECKPOINT_PAGES = 2_000;
/** Longest pause of the writer, ms: a thread that hangs must not stop the journal. */
const MOST_PAUSE_MS = 2_000;
/** A thread that does not answer within this many ms is ended; the next checkpoint starts a new one. */
const TASK_TIMEOUT_MS = 60_000;
/** An idle thread is ended after this many ms. */
const IDLE_MS = 10_000;

/**
 * A request to the thread: copy the log into the database file; with `restart`, also begin the log again; with `read`,
 * read the file from end to end instead.
 */
export interface CheckpointTask {
  readonly restart: boolean;
  readonly read?: true;
}

/** The thread's answer to a task. */
export interface CheckpointDone extends CheckpointTask {
  /** Why the task failed; absent when it succeeded. */
  readonly failure?: string;
  /** What SQLite found wrong with the file; absent when it is sound or was not looked at. */
  readonly damage?: string;
}

export interface CheckpointOptions {
  readonly clock: Clock;
  /** No transaction may begin from this call until `resume`. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** Called when a checkpoint failed. Nothing is lost; the log grows until one succeeds. */
  readonly failed: (reason: string) => void;
  /** Called when the file is damaged, removed or replaced. */
  readonly damaged: (reason: string) => void;
  /** Called when the write-ahead log was removed or replaced; no checkpoint is made any more. */
  readonly logLost: (reason: string) => void;
}

/**
 * Runs SQLite's checkpoints in a thread of their own, so that neither the copying nor the syncs block the event loop.
 * Most of the log is copied while the writer continues. Then the writer pauses while the thread copies the rest and
 * makes the first commit of the restarted log, because that commit syncs the log's header.
 */
export class Checkpoints {
  readonly #path: string;
  readonly #options: CheckpointOptions;
  readonly #watch: DatabaseWatch;
  #worker: Worker | undefined;
  #pagesSince = 0;
  #isRunning = false;
  #pause: Disposable | undefined;
  #idle: Disposable | undefined;
  #limit: Disposable | undefined;
  #closed = false;

  constructor(path: string, options: CheckpointOptions) {
    this.#path = path;
    this.#options = options;
    this.#watch = new DatabaseWatch(path, {
      clock: options.clock,
      isWriting: () => this.#isRunning,
      read: () => this.#begin({ restart: false, read: true }),
      lost: options.damaged,
      logLost: options.logLost,
    });
  }

  /** Call after each commit with the number of rows that it changed; begins a checkpoint when one is due. */
  committed(rows: number): void {
    this.#pagesSince += PAGES_OF_COMMIT + rows * PAGES_OF_ROW;
    if (this.#pagesSince < CHECKPOINT_PAGES || this.#isRunning || this.#closed) return;
    // A new connection would read another log; the watch tells of that.
    if (!this.#watch.hasLog()) return;
    this.#pagesSince = 0;
    this.#begin({ restart: false });
  }

  close(): void {
    this.#closed = true;
    this.#watch[Symbol.dispose]();
    this.#resume();
    this.#idle?.[Symbol.dispose]();
    this.#limit?.[Symbol.dispose]();
    this.#dismiss();
  }

  #dismiss(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }

  #begin(task: CheckpointTask): void {
    this.#isRunning = true;
    this.#idle?.[Symbol.dispose]();
    this.#ask(task);
  }

  #ask(task: CheckpointTask): void {
    this.#worker ??= this.#start();
    this.#limit?.[Symbol.dispose]();
    this.#limit = this.#options.clock.timer(TASK_TIMEOUT_MS, () => {
      this.#dismiss();
      this.#options.failed(`its thread did not answer within ${TASK_TIMEOUT_MS / 1_000} s`);
      this.#finish({ isOwn: false });
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(task);
  }

  #start(): Worker {
    const worker = new Worker(runnableFile(new URL('./checkpoint-worker.ts', import.meta.url)), {
      workerData: { path: this.#path },
    });
    worker.unref();
    // A late answer of a thread that was given up is ignored.
    worker.on('message', (done: CheckpointDone) => {
      if (this.#worker === worker) this.#done(done);
    });
    // The next checkpoint starts a new thread.
    const lost = (reason: string): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#options.failed(reason);
      this.#finish({ isOwn: false });
    };
    worker.on('error', (error) => lost(errorMessage(error)));
    worker.on('exit', (code) => lost(`its thread ended with ${code}`));
    return worker;
  }

  #done({ restart, read, failure, damage }: CheckpointDone): void {
    if (failure !== undefined) this.#options.failed(failure);
    if (damage !== undefined) this.#options.damaged(damage);
    if (restart || read === true || failure !== undefined || damage !== undefined) {
      this.#finish({ isOwn: failure === undefined && damage === undefined });
      return;
    }
    this.#options.pause();
    this.#pause = this.#options.clock.timer(MOST_PAUSE_MS, () => this.#resume(), { keepAlive: true });
    this.#ask({ restart: true });
  }

  /** `isOwn`: the file is as our thread left it. After a failure, what changed it is not known. */
  #finish({ isOwn }: { readonly isOwn: boolean }): void {
    this.#resume();
    this.#limit?.[Symbol.dispose]();
    if (isOwn) this.#watch.written();
    this.#isRunning = false;
    if (this.#closed || this.#worker === undefined) return;
    this.#idle = this.#options.clock.timer(IDLE_MS, () => this.#dismiss());
  }

  #resume(): void {
    if (this.#pause === undefined) return;
    this.#pause[Symbol.dispose]();
    this.#pause = undefined;
    this.#options.resume();
  }
}
