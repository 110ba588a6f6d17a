import { on } from 'node:events';
import { Worker } from 'node:worker_threads';
import { AppError, runnableFile } from '../../../core/api-paths.ts';
import { type Clock, deadline, Slots } from '../../../core/api.ts';
import type { SearchParams } from './search.ts';
import type { WalkBase } from './walk.ts';

/** What a thread is given: the parameters of a call, and where it searches. */
export interface SearchTask extends Omit<SearchParams, 'path'> {
  readonly base: WalkBase;
  /** What stands before the names in the answer, with a slash at its end unless it is empty. */
  readonly prefix: string;
  /** Characters of the answer. */
  readonly pageChars: number;
  /** The search ends after this many ms with what it has found. */
  readonly budgetMs: number;
}

export interface FoundFiles {
  /** For the model, with what it should know of the search. */
  readonly output: string;
  /** Real paths of the files of which it shows something. */
  readonly shown: readonly string[];
  /** Results that are shown, files that were looked at, and whether there is more. */
  readonly metadata: { readonly found: number; readonly searched: number; readonly truncated: boolean };
}

/** What a thread says: how far it is, and at its end what came out, or one sentence. */
export type ThreadMessage = { readonly progress: string } | { readonly found: FoundFiles } | { readonly error: string };

export interface FindOptions {
  readonly signal: AbortSignal;
  readonly progress: (text: string) => void;
}

/** Searches in a thread of its own, so that nothing waits behind it. Throws a sentence, or when the signal aborts. */
export type FindFiles = (task: Omit<SearchTask, 'budgetMs'>, options: FindOptions) => Promise<FoundFiles>;

/** Two at once are as many as are of use. */
const MOST_THREADS = 2;
const LIMIT_MS = 30_000;
/** Share of its time limit in which it searches; the rest is reserved for a single slow line. */
const SEARCHING_SHARE = 0.75;
const LIMITS = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16, stackSizeMb: 2 };

/** `timeoutMs` is for one search. @default 30 s */
export function createFindFiles({ clock, timeoutMs = LIMIT_MS }: { clock: Clock; timeoutMs?: number }): FindFiles {
  const slots = new Slots(MOST_THREADS);
  return (task, { signal, progress }) =>
    slots.run(async () => {
      using limit = deadline(clock, timeoutMs, 'the search');
      const data: SearchTask = { ...task, budgetMs: timeoutMs * SEARCHING_SHARE };
      try {
        return await inThread(data, { signal: AbortSignal.any([signal, limit.signal]), progress });
      } catch (error) {
        if (!limit.signal.aborted || signal.aborted) throw error;
        throw new AppError(
          'search-late',
          `The search was ended after ${timeoutMs / 1000} s: the pattern takes too long on some line. Use a simpler one, or a smaller path.`,
        );
      }
    }, signal);
}

/** The thread ends with its task, or when the signal aborts, wherever it is. */
async function inThread(task: SearchTask, { signal, progress }: FindOptions): Promise<FoundFiles> {
  signal.throwIfAborted();
  const file = runnableFile(new URL('./find-worker.ts', import.meta.url));
  const worker = new Worker(file, { workerData: task, resourceLimits: LIMITS, env: {}, stdout: true, stderr: true });
  // One that runs out of memory while it is ended says so when nobody waits for its messages any more.
  worker.on('error', () => {});
  try {
    for await (const [message] of on(worker, 'message', { signal, close: ['exit'] })) {
      const said: ThreadMessage = message;
      if ('found' in said) return said.found;
      if ('error' in said) throw new AppError('thread-failed', said.error);
      progress(said.progress);
    }
    throw new AppError('thread-failed', 'Its thread ended.');
  } finally {
    await worker.terminate();
  }
}
