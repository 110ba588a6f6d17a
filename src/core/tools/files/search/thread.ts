import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker, type ResourceLimits } from 'node:worker_threads';
import { raceAbort } from '../../../util/clock.ts';
import { AppError } from '../../../util/errors.ts';

/** What a thread says: how far it is, and at its end what came out. */
export type ThreadMessage<Answer> =
  | { readonly progress: string }
  | { readonly answer: Answer }
  /** One sentence. */
  | { readonly error: string };

export interface ThreadTask {
  /** The `.ts` file of the thread; in the published package the bundle of that name is used. */
  readonly file: URL;
  readonly data: unknown;
  readonly limits: ResourceLimits;
  readonly signal: AbortSignal;
  readonly progress?: (text: string) => void;
}

/**
 * Does one task in a thread of its own that ends with it, or when the signal aborts, wherever it is. Throws
 * `thread-failed` with the thread's own sentence, the signal's reason, or `ERR_WORKER_OUT_OF_MEMORY`.
 */
export async function inThread<Answer>({ file, data, limits, signal, progress }: ThreadTask): Promise<Answer> {
  signal.throwIfAborted();
  const worker = new Worker(threadFile(file), {
    workerData: data,
    resourceLimits: limits,
    env: {},
    stdout: true,
    stderr: true,
  });
  try {
    const said = new Promise<Answer>((resolve, reject) => {
      worker.on('message', (message: ThreadMessage<Answer>) => {
        if ('answer' in message) resolve(message.answer);
        else if ('error' in message) reject(new AppError('thread-failed', message.error));
        else progress?.(message.progress);
      });
    });
    // `once` rejects when the thread breaks.
    const ended = once(worker, 'exit').then((): never => {
      throw new AppError('thread-failed', 'Its thread ended.');
    });
    return await raceAbort(Promise.race([said, ended]), signal);
  } finally {
    await worker.terminate();
  }
}

function threadFile(source: URL): URL {
  return existsSync(fileURLToPath(source)) ? source : new URL(source.href.replace(/\.ts$/u, '.js'));
}
