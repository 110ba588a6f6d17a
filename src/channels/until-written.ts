import { backoffMs } from '../util/backoff.ts';
import { sleep, type Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import type { Random } from '../util/random.ts';

const RETRY = { firstMs: 1_000, maxMs: 30_000 };

export interface UntilWrittenPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Undefined: it works again. */
  readonly report: (trouble: string | undefined) => void;
  /** Aborts the waiting; the failure is thrown then. */
  readonly signal: AbortSignal;
  /** False when too much waits already; the failure is thrown then. @default always true */
  readonly mayWait?: () => boolean;
}

/** Tries to write messages down until it works: a platform that has handed them over does not bring them again. */
export async function untilWritten<T>(work: () => Promise<T>, ports: UntilWrittenPorts): Promise<T> {
  const { clock, random, log, report, signal, mayWait = () => true } = ports;
  for (let failures = 1; ; failures += 1) {
    try {
      const done = await work();
      if (failures > 1) report(undefined);
      return done;
    } catch (error) {
      if (signal.aborted || !mayWait()) throw error;
      const reason = errorMessage(error);
      report(`Messages can not be written down: ${reason}`);
      if (failures === 1) log.error('messages can not be written down', { reason });
      await sleep(clock, backoffMs(failures, RETRY, random), signal);
    }
  }
}
