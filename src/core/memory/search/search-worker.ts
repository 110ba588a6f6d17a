import { parentPort, workerData } from 'node:worker_threads';
import { mayBeDamage } from '../../storage/storage-failure.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Missing } from '../meaning/vectors.ts';
import type { SearchFiles, MemoryHit, SearchQuery } from './retriever.ts';
import { openSearchIndex, type QuestionVector, type SearchIndex } from './search-index.ts';

/** What the thread is asked, and by the same name what it answers. */
export interface WorkerTasks {
  readonly search: { readonly query: SearchQuery; readonly question: QuestionVector | null };
  readonly sync: Readonly<Record<string, never>>;
  /** Takes in what is new, and tells which texts have no vector yet. */
  readonly missing: { readonly model: string; readonly most: number; readonly characters: number };
  readonly keep: {
    readonly model: string;
    readonly made: readonly { readonly id: number; readonly text: string; readonly vector: Float32Array }[];
  };
}

export interface WorkerResults {
  readonly search: readonly MemoryHit[];
  readonly sync: null;
  readonly missing: Missing;
  readonly keep: null;
}

export type WorkerTask = { [T in keyof WorkerTasks]: { readonly type: T } & WorkerTasks[T] }[keyof WorkerTasks];

export type WorkerAnswer =
  | { readonly id: number; readonly result: WorkerResults[keyof WorkerResults] }
  | { readonly id: number; readonly error: string }
  | { readonly log: string }
  /** What was new could not be taken in, because the disk or another process did not let it. */
  | { readonly refused: string };

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
const say = (answer: WorkerAnswer): void => parentPort?.postMessage(answer);

let index: SearchIndex | undefined;

function work(task: WorkerTask): WorkerResults[keyof WorkerResults] {
  index ??= openSearchIndex(setupOf(workerData), (log) => say({ log }));
  if (task.type === 'keep') {
    index.vectors.keep(task.model, task.made);
    return null;
  }
  try {
    index.sync();
  } catch (error) {
    if (mayBeDamage(error) || task.type !== 'search') throw error;
    say({ refused: errorMessage(error) });
    // What was found before the disk refused is found still.
  }
  switch (task.type) {
    case 'search':
      return index.search(task.query, task.question);
    case 'missing':
      return index.vectors.missing(task.model, task);
    case 'sync':
      return null;
  }
}

/** A damaged index is made again, once for each task; one that a disk only refuses to write stays. */
function workTwice(task: WorkerTask): WorkerResults[keyof WorkerResults] {
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
    say({ id, result: workTwice(task) });
  } catch (error) {
    if (!mayBeDamage(error)) say({ refused: errorMessage(error) });
    say({ id, error: `The memory could not be searched: ${errorMessage(error)}.` });
  }
});

/** It was written by `MemorySearch`, in the same process. */
function setupOf(data: unknown): SearchFiles {
  return data as SearchFiles;
}
