import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';

/** What a commit adds to the log at least, and each row that it changes, in pages, roughly. */
const PAGES_OF_COMMIT = 4;
const PAGES_OF_ROW = 0.5;
/** Pages between two checkpoints: the log grows to about 8 MB. */
const EVERY_PAGES = 2_000;
/** The writer is held up at most this long, milliseconds: a thread that hangs must not stop the journal. */
const MOST_PAUSE_MS = 2_000;
/** A thread that has not answered by then, milliseconds, is given up; the next checkpoint begins with a new one. */
const TASK_MS = 60_000;
/** A thread that has nothing to do ends after this many milliseconds. */
const IDLE_MS = 10_000;

/** What the thread is asked to do: move what the log holds into the file, or with `restart` also begin the log anew. */
export interface CheckpointTask {
  readonly restart: boolean;
}

/** What the thread says when it is done. */
export interface CheckpointDone extends CheckpointTask {
  /** Why nothing came of it. */
  readonly failure?: string;
}

export interface CheckpointPorts {
  readonly clock: Clock;
  /** From here on no transaction may begin. */
  readonly pause: () => void;
  readonly resume: () => void;
  /** A checkpoint failed: the log grows until one works, and nothing is lost. */
  readonly failed: (reason: string) => void;
}

/**
 * Moves SQLite's log into its file in a thread of its own, so that neither the copying nor its syncs hold up the event
 * loop. The bulk is moved beside the writer; then the writer pauses for the little that came meanwhile, and the thread
 * makes the first commit of the new log, because SQLite syncs its header at once.
 */
export class Checkpoints {
  readonly #path: string;
  readonly #ports: CheckpointPorts;
  #worker: Worker | undefined;
  #pagesSince = 0;
  #isRunning = false;
  #pause: Disposable | undefined;
  #idle: Disposable | undefined;
  #limit: Disposable | undefined;
  #closed = false;

  constructor(path: string, ports: CheckpointPorts) {
    this.#path = path;
    this.#ports = ports;
  }

  /** A transaction was committed that changed so many rows. */
  committed(rows: number): void {
    this.#pagesSince += PAGES_OF_COMMIT + rows * PAGES_OF_ROW;
    if (this.#pagesSince < EVERY_PAGES || this.#isRunning || this.#closed) return;
    this.#pagesSince = 0;
    this.#isRunning = true;
    this.#idle?.[Symbol.dispose]();
    this.#ask({ restart: false });
  }

  close(): void {
    this.#closed = true;
    this.#resume();
    this.#idle?.[Symbol.dispose]();
    this.#limit?.[Symbol.dispose]();
    this.#dismiss();
  }

  #dismiss(): void {
    void this.#worker?.terminate();
    this.#worker = undefined;
  }

  #ask(task: CheckpointTask): void {
    this.#worker ??= this.#start();
    this.#limit?.[Symbol.dispose]();
    this.#limit = this.#ports.clock.timer(TASK_MS, () => {
      this.#dismiss();
      this.#ports.failed(`its thread did not answer within ${TASK_MS / 1_000} s`);
      this.#finish();
    });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(task);
  }

  #start(): Worker {
    const worker = new Worker(workerFile(), { workerData: { path: this.#path } });
    worker.unref();
    // One that was given up has no say any more.
    worker.on('message', (done: CheckpointDone) => {
      if (this.#worker === worker) this.#done(done);
    });
    // The next checkpoint begins with a new thread.
    const lost = (reason: string): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      this.#ports.failed(reason);
      this.#finish();
    };
    worker.on('error', (error) => lost(errorMessage(error)));
    worker.on('exit', (code) => lost(`its thread ended with ${code}`));
    return worker;
  }

  #done({ restart, failure }: CheckpointDone): void {
    if (failure !== undefined) this.#ports.failed(failure);
    if (restart || failure !== undefined) {
      this.#finish();
      return;
    }
    this.#ports.pause();
    this.#pause = this.#ports.clock.timer(MOST_PAUSE_MS, () => this.#resume(), { keepAlive: true });
    this.#ask({ restart: true });
  }

  #finish(): void {
    this.#resume();
    this.#limit?.[Symbol.dispose]();
    this.#isRunning = false;
    if (this.#closed || this.#worker === undefined) return;
    this.#idle = this.#ports.clock.timer(IDLE_MS, () => this.#dismiss());
  }

  #resume(): void {
    if (this.#pause === undefined) return;
    this.#pause[Symbol.dispose]();
    this.#pause = undefined;
    this.#ports.resume();
  }
}

/** The `.ts` file when run from source; in the published package the bundle of that name. */
function workerFile(): string {
  const source = fileURLToPath(new URL('checkpoint-worker.ts', import.meta.url));
  return existsSync(source) ? source : fileURLToPath(new URL('checkpoint-worker.js', import.meta.url));
}
