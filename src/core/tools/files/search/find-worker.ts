import { parentPort, workerData } from 'node:worker_threads';
import { errorMessage } from '../../../util/errors.ts';
import { systemClock } from '../../../util/clock.ts';
import type { FindTask, ThreadMessage } from './find.ts';
import { globFiles } from './glob-files.ts';
import { grepFiles } from './grep-files.ts';

/** It comes from `createFindFiles`, in the same process. */
const task = workerData as FindTask;

const PROGRESS_MS = 1_000;
const start = systemClock.monotonic();
let reportedAt = start;

const ports = {
  elapsed: () => systemClock.monotonic() - start,
  progress: (searched: number) => {
    // The clock is not asked for each file.
    if (searched % 500 !== 0 || systemClock.monotonic() - reportedAt < PROGRESS_MS) return;
    reportedAt = systemClock.monotonic();
    post({ progress: `searched ${searched} files` });
  },
};

async function answer(): Promise<ThreadMessage> {
  try {
    return { answer: await (task.kind === 'glob' ? globFiles(task, ports) : grepFiles(task, ports)) };
  } catch (error) {
    return { error: errorMessage(error) };
  }
}

function post(message: ThreadMessage): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort?.postMessage(message);
}

post(await answer());
