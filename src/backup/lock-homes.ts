import { join } from 'node:path';
import { acquireHomeLock } from '../core/storage/lock.ts';
import type { Clock } from '../core/util/clock.ts';
import { homesIn } from './contents.ts';

/** Locks a home and those in it for this process. Throws `home-locked` while an assistant runs in one of them. */
export async function lockHomes(home: string, clock: Pick<Clock, 'now'>): Promise<Disposable> {
  using stack = new DisposableStack();
  for (const inner of await homesIn(home)) {
    stack.use(acquireHomeLock(join(home, inner, 'lock'), { pid: process.pid, startedAt: clock.now() }));
  }
  return stack.move();
}
