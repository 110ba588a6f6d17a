import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../util/clock.ts';

/** Commits between two checkpoints: the log grows to about 8 MB. */
const EVERY_COMMITS = 400;
/** Rows that change between two checkpoints: a sweep changes many in one commit. */
const EVERY_ROWS = 4_000;
/** The writer is held up at most this long, milliseconds: a thread that hangs must not stop the journal. */
const MOST_PAUSE_MS = 2_000;
/** A thread that has nothing to do ends after this many milliseconds. */
const IDLE_MS = 10_000;

/** What the thread is asked to do: move what the log holds into the file, or with `restart` also begin the log anew. */
export interface CheckpointTask {
  readonly restart: boolean;
}

export interface CheckpointPorts {
  readonly clock: Clock;
  /** From here on no transaction may begin. */
  readonly pause: () => void;
  readonly resume: () => void;
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
  #since = 0;
  #rows = 0;
  #isRunning = false;
  #pause: Disposable | undefined;
  #idle: Disposable | undefined;
  #closed = false;

  constructor(path: string, ports: CheckpointPorts) {
    this.#path = path;
    this.#ports = ports;
  }

  /** A transaction that changed so many rows was committed. */
  committed(rows: number): void {
    this.#since += 1;
    this.#rows += rows;
    const isDue = this.#since >= EVERY_COMMITS || this.#rows >= EVERY_ROWS;
    if (!isDue || this.#isRunning || this.#closed) return;
    this.#since = 0;
    this.#rows = 0;
    this.#isRunning = true;
    this.#idle?.[Symbol.dispose]();
    this.#ask({ restart: false });
  }

  close(): void {
    this.#closed = true;
    this.#resume();
    this.#idle?.[Symbol.dispose]();
    void this.#worker?.terminate();
    this.#worker = undefined;
  }

  #ask(task: CheckpointTask): void {
    this.#worker ??= this.#start();
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    this.#worker.postMessage(task);
  }

  #start(): Worker {
    const worker = new Worker(workerFile(), { workerData: { path: this.#path } });
    worker.unref();
    worker.on('message', (task: CheckpointTask) => this.#done(task));
    // The next checkpoint begins with a new thread; until then the log grows, and nothing is lost.
    const lost = (): void => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#finish();
    };
    worker.on('error', lost);
    worker.on('exit', lost);
    return worker;
  }

  #done({ restart }: CheckpointTask): void {
    if (this.#closed) return;
    if (restart) {
      this.#finish();
      return;
    }
    this.#ports.pause();
    this.#pause = this.#ports.clock.timer(MOST_PAUSE_MS, () => this.#resume(), { keepAlive: true });
    this.#ask({ restart: true });
  }

  #finish(): void {
    this.#resume();
    this.#isRunning = false;
    if (this.#closed || this.#worker === undefined) return;
    this.#idle = this.#ports.clock.timer(IDLE_MS, () => {
      void this.#worker?.terminate();
      this.#worker = undefined;
    });
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
