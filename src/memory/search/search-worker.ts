import { parentPort, workerData } from 'node:worker_threads';
import { mayBeDamage } from '../../storage/storage-failure.ts';
import { errorMessage } from '../../util/errors.ts';
import type { SearchFiles, MemoryHit, SearchQuery } from './retriever.ts';
import { openSearchIndex, type SearchIndex } from './search-index.ts';

export type WorkerTask = { readonly type: 'search'; readonly query: SearchQuery } | { readonly type: 'sync' };

export type WorkerAnswer =
  | { readonly id: number; readonly hits: readonly MemoryHit[] }
  | { readonly id: number; readonly error: string }
  | { readonly log: string }
  /** What was new could not be taken in, because the disk or another process did not let it. */
  | { readonly refused: string };

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const say = (answer: WorkerAnswer): void => parentPort?.postMessage(answer);

let index: SearchIndex | undefined;

function work(task: WorkerTask): readonly MemoryHit[] {
  index ??= openSearchIndex(setupOf(workerData), (log) => say({ log }));
  try {
    index.sync();
  } catch (error) {
    if (mayBeDamage(error) || task.type === 'sync') throw error;
    say({ refused: errorMessage(error) });
    // What was found before the disk refused is found still.
  }
  return task.type === 'search' ? index.search(task.query) : [];
}

/** A damaged index is made again, once for each task; one that a disk only refuses to write stays. */
function workTwice(task: WorkerTask): readonly MemoryHit[] {
  try {
    return work(task);
  } catch (error) {
    if (!mayBeDamage(error)) throw error;
    say({ log: `The index of the memory is made again: ${errorMessage(error)}` });
    index?.destroy();
    index = undefined;
    return work(task);
  }
}

parentPort?.on('message', ({ id, task }: { readonly id: number; readonly task: WorkerTask }) => {
  try {
    say({ id, hits: workTwice(task) });
  } catch (error) {
    if (!mayBeDamage(error)) say({ refused: errorMessage(error) });
    say({ id, error: `The memory could not be searched: ${errorMessage(error)}.` });
  }
});

/** It was written by `MemorySearch`, in the same process. */
function setupOf(data: unknown): SearchFiles {
  return data as SearchFiles;
}
