import { backoffMs } from '../util/backoff.ts';
import { sleep, type Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';

const BACKOFF = { firstMs: 500, maxMs: 30_000 };

/** Writes to the journal until it takes it. */
export type UntilWritten = <T>(write: () => Promise<T>) => Promise<T>;

/** A journal that can not be written is waited for: nothing is skipped because a disk is full for a while. */
export function untilWritten({ clock, log }: { clock: Clock; log: Logger }, shutdown: AbortSignal): UntilWritten {
  return async (write) => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await write();
      } catch (error) {
        log.error('the journal could not be written', { tries, reason: errorMessage(error) });
        await sleep(clock, backoffMs(tries, BACKOFF), shutdown);
      }
    }
  };
}
