import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage } from '../../util/errors.ts';
import type { PageAnswer, PageTask } from './page-task.ts';
import { readPage } from './read-page.ts';

/** It was written by `readInThread`, in the same process. */
const task = workerData as PageTask;

async function answer(): Promise<PageAnswer> {
  try {
    return { page: await readPage(task) };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
parentPort?.postMessage(await answer());
