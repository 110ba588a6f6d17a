import { Worker } from 'node:worker_threads';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { Meaning, type Embedder, type MeaningState } from '../meaning/meaning.ts';
import type { Retriever, SearchFiles, MemoryHit, SearchQuery } from './retriever.ts';
import type { WorkerAnswer, WorkerResults, WorkerTask, WorkerTasks } from './search-worker.ts';
import { runnableFile } from '../../util/runnable-file.ts';

export interface MemorySearchOptions extends SearchFiles {
  readonly clock: Clock;
  readonly log: Logger;
  /** The disk did not take what is new into the index. @default no one is told */
  readonly onRefused?: () => void;
  /** @default 10 s */
  readonly timeoutMs?: number;
  /** An idle worker is ended after this many ms. @default 1 min */
  readonly idleMs?: number;
  /** Time between the first `scheduleSync` and the update of the index, ms; calls in between add nothing. @default 2 s */
  readonly settleMs?: number;
}

const TIMEOUT_MS = 10_000;
const IDLE_MS = 60_000;
const SETTLE_MS = 2_000;

interface Running {
  readonly worker: Worker;
  readonly waiting: Map<number, PromiseWithResolvers<unknown>>;
}

/**
 * Search over MEMORY.md, HISTORY.md and all tapes, in a thread of its own that lives as long as it is needed.
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
  #meaning: Meaning | undefined;

  constructor(options: MemorySearchOptions) {
    this.#options = options;
  }

  /** Everything that was written before the call is found. */
  async search(query: SearchQuery): Promise<readonly MemoryHit[]> {
    const question = query.by === 'words' ? null : ((await this.#meaning?.ofQuestion(query.text)) ?? null);
    return await this.#ask('search', { query, question });
  }

  /** Searches by meaning too, from now on. The texts follow in the background. */
  useMeaning(embedder: () => Embedder | null): void {
    const { clock, log } = this.#options;
    this.#meaning ??= new Meaning({ embedder, clock, log }, (type, task) => this.#ask(type, task));
    if (embedder() !== null) this.scheduleSync();
  }

  /** Embeds what is missing now. Resolves when all is there, or the server does not answer, as `meaning` then says. */
  async embed(): Promise<void> {
    await this.#meaning?.finished();
  }

  /** Null: no model for meaning was ever given to it. */
  get meaning(): MeaningState | null {
    return this.#meaning?.state ?? null;
  }

  /** Something was said: the index follows shortly, however much more is said until then. */
  scheduleSync(): void {
    if (this.#closed || this.#settling !== undefined) return;
    const { clock, log, settleMs = SETTLE_MS } = this.#options;
    this.#settling = clock.timer(settleMs, () => {
      this.#settling = undefined;
      this.#ask('sync', {})
        .catch((error: unknown) => log.warn('search: index not updated', { reason: errorMessage(error) }))
        // A long update may be over when the first texts are asked for.
        .finally(() => this.#meaning?.schedule());
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#settling?.[Symbol.dispose]();
    await Promise.all([this.#meaning?.[Symbol.asyncDispose](), this.#end()]);
  }

  async #ask<T extends keyof WorkerTasks>(type: T, facts: WorkerTasks[T]): Promise<WorkerResults[T]> {
    if (this.#closed) throw new AppError('search-closed', 'The memory cannot be searched: the assistant is stopping.');
    const { clock, timeoutMs = TIMEOUT_MS } = this.#options;
    this.#idle?.[Symbol.dispose]();
    const { worker, waiting } = (this.#running ??= this.#start());
    this.#tasks += 1;
    const id = this.#tasks;
    const answer = Promise.withResolvers<unknown>();
    waiting.set(id, answer);
    const task = { type, ...facts } as WorkerTask;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
    worker.postMessage({ id, task });
    using limit = deadline(clock, timeoutMs, 'the search');
    try {
      // The thread answers each task with the result of its name.
      return (await raceAbort(answer.promise, limit.signal)) as WorkerResults[T];
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
    const worker = new Worker(runnableFile(new URL('./search-worker.ts', import.meta.url)), { workerData: setup });
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
      } else if ('result' in answer) waiting.get(answer.id)?.resolve(answer.result);
      else waiting.get(answer.id)?.reject(new AppError('search-failed', answer.error));
    });
    worker.on('error', (error) => lose(errorMessage(error)));
    worker.on('exit', () => lose('its thread ended'));
    return running;
  }
}
