import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage } from '../../../core/api-paths.ts';
import type { SearchTask, ThreadMessage } from './find.ts';
import { searchFiles } from './search-files.ts';

function post(message: ThreadMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
}

try {
  // The task comes from `createFindFiles`, in the same process.
  post({ found: await searchFiles(workerData as SearchTask, (progress) => post({ progress })) });
} catch (error) {
  post({ error: errorMessage(error) });
}
