import { deadline, type Clock } from '../../../util/clock.ts';
import { AppError } from '../../../util/errors.ts';
import { Slots } from '../../../util/slots.ts';
import { inThread } from './thread.ts';
import type { FindTask, FoundFiles, GlobTask, GrepTask } from './find-task.ts';

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
        return await inThread<FoundFiles>({
          file: new URL('./find-worker.ts', import.meta.url),
          data,
          limits: LIMITS,
          signal: AbortSignal.any([signal, limit.signal]),
          progress,
        });
      } catch (error) {
        if (!limit.signal.aborted || signal.aborted) throw error;
        throw new AppError(
          'search-late',
          `The search was ended after ${timeoutMs / 1000} s: the pattern takes too long on some line. Use a simpler one, or a smaller path.`,
        );
      }
    }, signal);
}
