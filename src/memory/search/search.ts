import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { Retriever, SearchFiles, MemoryHit, SearchQuery } from './retriever.ts';
import type { WorkerAnswer, WorkerTask } from './search-worker.ts';

export interface MemorySearchOptions extends SearchFiles {
  readonly clock: Clock;
  readonly log: Logger;
  /** The disk did not take what is new into the index. @default no one is told */
  readonly onRefused?: () => void;
  /** @default 10 s */
  readonly timeoutMs?: number;
  /** An idle worker is ended after this many ms. @default 1 min */
  readonly idleMs?: number;
  /** Debounce between the last `scheduleSync` and the update of the index, ms. @default 1 min */
  readonly settleMs?: number;
}

const TIMEOUT_MS = 10_000;
const IDLE_MS = 60_000;
const SETTLE_MS = 60_000;

interface Running {
  readonly worker: Worker;
  readonly waiting: Map<number, PromiseWithResolvers<readonly MemoryHit[]>>;
}

/**
 * Full-text search over MEMORY.md, HISTORY.md and all tapes, in a thread of its own that lives as long as it is needed.
 * The index is a file of its own that is made again when it is lost or damaged. While the disk refuses to take in what
 * is new, what was taken in before is found.
 */
export class MemorySearch implements Retriever, AsyncDisposable {
  readonly #options: MemorySearchOptions;
  #running: Running | undefined;
  #tasks = 0;
  #idle: Disposable | undefined;
  #settling: Disposable | undefined;
  #closed = false;

  constructor(options: MemorySearchOptions) {
    this.#options = options;
  }

  /** Everything that was written before the call is found. */
  search(query: SearchQuery): Promise<readonly MemoryHit[]> {
    return this.#ask({ type: 'search', query });
  }

  /** Something was said: the index follows in a while. */
  scheduleSync(): void {
    if (this.#closed) return;
    const { clock, log, settleMs = SETTLE_MS } = this.#options;
    this.#settling?.[Symbol.dispose]();
    this.#settling = clock.timer(settleMs, () => {
      this.#ask({ type: 'sync' }).catch((error: unknown) =>
        log.warn('search: index not updated', { reason: errorMessage(error) }),
      );
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#settling?.[Symbol.dispose]();
    await this.#end();
  }

  async #ask(task: WorkerTask): Promise<readonly MemoryHit[]> {
    if (this.#closed) throw new AppError('search-closed', 'The memory cannot be searched: the assistant is stopping.');
    const { clock, timeoutMs = TIMEOUT_MS } = this.#options;
    this.#idle?.[Symbol.dispose]();
    const { worker, waiting } = (this.#running ??= this.#start());
    this.#tasks += 1;
    const id = this.#tasks;
    const answer = Promise.withResolvers<readonly MemoryHit[]>();
    waiting.set(id, answer);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage({ id, task });
    using limit = deadline(clock, timeoutMs, 'the search');
    try {
      return await raceAbort(answer.promise, limit.signal);
    } catch (error) {
      if (!limit.signal.aborted) throw error;
      const text =
        'The memory could not be searched in time; its index may still be in the making. Try again in a minute.';
      throw new AppError('search-late', text, { cause: error });
    } finally {
      waiting.delete(id);
      if (waiting.size === 0) this.#rest();
    }
  }

  #rest(): void {
    if (this.#closed || this.#running === undefined) return;
    this.#idle?.[Symbol.dispose]();
    this.#idle = this.#options.clock.timer(this.#options.idleMs ?? IDLE_MS, () => void this.#end());
  }

  async #end(): Promise<void> {
    this.#idle?.[Symbol.dispose]();
    const running = this.#running;
    this.#running = undefined;
    await running?.worker.terminate();
  }

  #start(): Running {
    const { sessions, workspace, database, timezone = null } = this.#options;
    const setup: SearchFiles = { sessions, workspace, database, timezone };
    const worker = new Worker(workerFile(), { workerData: setup });
    // A process that has nothing else to do does not wait for it.
    worker.unref();
    const waiting: Running['waiting'] = new Map();
    const running = { worker, waiting };
    const lose = (reason: string): void => {
      if (this.#running === running) this.#running = undefined;
      const error = new AppError('search-failed', `The memory could not be searched: ${reason}.`);
      for (const answer of waiting.values()) answer.reject(error);
    };
    worker.on('message', (answer: WorkerAnswer) => {
      const { log, onRefused } = this.#options;
      if ('log' in answer) log.warn(answer.log);
      else if ('refused' in answer) {
        log.warn('search: index not brought up to date', { reason: answer.refused });
        onRefused?.();
      } else if ('hits' in answer) waiting.get(answer.id)?.resolve(answer.hits);
      else waiting.get(answer.id)?.reject(new AppError('search-failed', answer.error));
    });
    worker.on('error', (error) => lose(errorMessage(error)));
    worker.on('exit', () => lose('its thread ended'));
    return running;
  }
}

/** From source a TypeScript file; in the published package the bundle beside this one. */
function workerFile(): URL {
  const source = new URL('./search-worker.ts', import.meta.url);
  return existsSync(source) ? source : new URL('./search-worker.js', import.meta.url);
}
