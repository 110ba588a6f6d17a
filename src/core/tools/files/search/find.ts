import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { deadline, raceAbort, type Clock } from '../../../util/clock.ts';
import { AppError } from '../../../util/errors.ts';
import { Slots } from '../../../util/slots.ts';
import type { WalkBase } from './walk.ts';

interface Common {
  readonly base: WalkBase;
  /** What stands before the names in the answer, with a slash at its end unless it is empty. */
  readonly prefix: string;
  readonly pattern: string;
  /** Whether to look also at what git ignores. */
  readonly ignored: boolean;
  /** Results to pass over, and most to show. */
  readonly offset: number;
  readonly limit: number;
  /** Characters of the answer. */
  readonly pageChars: number;
  /** The search ends after this many ms with what it has found. */
  readonly budgetMs: number;
}

export interface GlobTask extends Common {
  readonly kind: 'glob';
}

/** `lines`: what matches, with so many lines around it; `files`: where; `count`: how often in each file. */
export interface GrepTask extends Common {
  readonly kind: 'grep';
  readonly mode: 'lines' | 'files' | 'count';
  readonly context: number;
  readonly ignoreCase: boolean;
  /** Only files that match this pattern. */
  readonly glob: string | null;
}

/** What a thread is given. */
export type FindTask = GlobTask | GrepTask;

/** A file of which the answer shows something. */
export interface ShownFile {
  /** Real. */
  readonly path: string;
  /** SHA-256 in hex of what was searched; null: nothing but white space, or nothing of it is shown. */
  readonly hash: string | null;
  /** Something of its content is shown, beside its name. */
  readonly isQuoted: boolean;
  readonly ctimeMs: number;
}

export interface FoundFiles {
  readonly text: string;
  readonly shown: readonly ShownFile[];
  /** Results that are shown. */
  readonly results: number;
  /** Files that were looked at. */
  readonly searched: number;
  /** The offset of the next page; null: there is none. */
  readonly next: number | null;
  /** Files and folders that need a yes or cannot be opened. */
  readonly closed: number;
  /** Files and folders that `.gitignore` names, which were left out. */
  readonly ignored: number;
  /** Files that could be opened and are binary, and those with a line of which only the beginning was searched. */
  readonly binary: number;
  readonly beginnings: number;
  /** Why it ended before everything was looked at. */
  readonly ended: 'time' | 'entries' | null;
}

/** What a thread says: how far it is, and at its end what came out, or one sentence. */
export type ThreadMessage =
  | { readonly progress: string }
  | { readonly answer: FoundFiles }
  | { readonly error: string };

/** Searches in a thread of its own, so that nothing waits behind it. Throws a sentence, or the signal's reason. */
export type FindFiles = (
  task: Omit<GlobTask, 'budgetMs'> | Omit<GrepTask, 'budgetMs'>,
  options: { readonly signal: AbortSignal; readonly progress: (text: string) => void },
) => Promise<FoundFiles>;

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
      const data: FindTask = { ...task, budgetMs: timeoutMs * SEARCHING_SHARE };
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
async function inThread(
  task: FindTask,
  { signal, progress }: { readonly signal: AbortSignal; readonly progress: (text: string) => void },
): Promise<FoundFiles> {
  signal.throwIfAborted();
  const source = new URL('./find-worker.ts', import.meta.url);
  // In the published package it is a bundle of that name.
  const file = existsSync(fileURLToPath(source)) ? source : new URL(source.href.replace(/\.ts$/u, '.js'));
  const worker = new Worker(file, { workerData: task, resourceLimits: LIMITS, env: {}, stdout: true, stderr: true });
  try {
    const said = new Promise<FoundFiles>((resolve, reject) => {
      worker.on('message', (message: ThreadMessage) => {
        if ('answer' in message) resolve(message.answer);
        else if ('error' in message) reject(new AppError('thread-failed', message.error));
        else progress(message.progress);
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
