import { acquireHomeLock, requireUnused } from '../storage/lock.ts';
import { AppError } from '../util/errors.ts';
import type { Ground } from '../assistant/base.ts';

/** Between two looks at the lock, ms. */
const LOOK_MS = 5_000;

/**
 * Locks the home until it is disposed of, and takes the lock again when somebody removed it. `onLost`: another process took the home
 * meanwhile. Throws `home-locked`, which names the holder, or `lock-unusable`.
 */
export function keepLock(
  { paths, startedAt, clock, log }: Pick<Ground, 'paths' | 'startedAt' | 'clock' | 'log'>,
  onLost: (error: AppError) => void,
): Disposable {
  requireUnused(paths.lock, paths.state);
  const lock = acquireHomeLock(paths.lock, { pid: process.pid, startedAt });
  let timer: Disposable | undefined;
  const look = (): void => {
    const found = lock.look();
    if (found === 'retaken')
      log.warn('start: the lock of the home was removed, and is taken again', { path: paths.lock });
    if (found === 'lost') {
      const sentence = `The lock ${paths.lock} was removed, and another process has the home now, so this one ends.`;
      log.error('start: another process has the home', { path: paths.lock });
      onLost(new AppError('lock-lost', sentence));
      return;
    }
    timer = clock.timer(LOOK_MS, look);
  };
  timer = clock.timer(LOOK_MS, look);
  return {
    [Symbol.dispose]: () => {
      timer?.[Symbol.dispose]();
      lock[Symbol.dispose]();
    },
  };
}
