import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { AppError, errorCode } from '../../util/errors.ts';
import { Slots } from '../../util/slots.ts';
import type { PageAnswer, PageTask, PageText } from './page-task.ts';

/** Makes text of the bytes of an answer. Throws `page-unreadable` or `page-late`, or the signal's reason. */
export type ReadPage = (page: Omit<PageTask, 'simple' | 'budgetMs'>, signal: AbortSignal) => Promise<PageText>;

const PAGE_MS = 5_000;
const PDF_MS = 15_000;
/** Of its time a PDF is read so long, the rest is for what was read. */
const READING_SHARE = 0.7;
const MOST_THREADS = 2;
const LIMITS = { maxOldGenerationSizeMb: 160, maxYoungGenerationSizeMb: 32, stackSizeMb: 2 };

export interface PageReaderOptions {
  readonly clock: Clock;
  /** For one page. @default 5 s, 15 s for a PDF */
  readonly timeoutMs?: number;
}

/**
 * Reads each page in a thread of its own that ends with it: what a page does to a parser (endless loops, all memory)
 * ends there, and no page meets another. At most two at once. A page that is too much for the parser is read once more
 * without one.
 */
export function createPageReader({ clock, timeoutMs }: PageReaderOptions): ReadPage {
  const slots = new Slots(MOST_THREADS);
  const read = async (task: PageTask, limitMs: number, signal: AbortSignal): Promise<PageText | undefined> => {
    using limit = deadline(clock, limitMs, 'reading a page');
    try {
      return await readInThread(task, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      signal.throwIfAborted();
      if (limit.signal.aborted || errorCode(error) === 'ERR_WORKER_OUT_OF_MEMORY') return undefined;
      throw error;
    }
  };
  return (page, signal) =>
    slots.run(async () => {
      const limitMs = timeoutMs ?? (page.kind === 'pdf' ? PDF_MS : PAGE_MS);
      const task = { ...page, simple: false, budgetMs: limitMs * READING_SHARE };
      const text =
        (await read(task, limitMs, signal)) ??
        (page.kind === 'html' ? await read({ ...task, simple: true }, limitMs, signal) : undefined);
      if (text !== undefined) return text;
      throw new AppError(
        'page-late',
        `It could not be turned into text in ${limitMs / 1000} s; it is too complicated.`,
      );
    }, signal);
}

async function readInThread(task: PageTask, signal: AbortSignal): Promise<PageText> {
  const worker = new Worker(workerFile(), {
    workerData: task,
    resourceLimits: LIMITS,
    env: {},
    stdout: true,
    stderr: true,
  });
  try {
    // `once` rejects when the thread breaks.
    const ended = once(worker, 'exit').then((): [PageAnswer] => [{ error: 'its thread ended' }]);
    const [answer] = (await raceAbort(Promise.race([once(worker, 'message'), ended]), signal)) as [PageAnswer];
    if ('page' in answer) return answer.page;
    throw new AppError('page-unreadable', answer.error);
  } finally {
    await worker.terminate();
  }
}

/** From source a TypeScript file; in the published package the bundle beside this one. */
function workerFile(): URL {
  const source = new URL('./page-worker.ts', import.meta.url);
  return existsSync(source) ? source : new URL('./page-worker.js', import.meta.url);
}
