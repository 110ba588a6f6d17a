/** Time as a port: everything that decides by time takes one of these, so tests can run under virtual time. */
export interface Clock {
  /** Wall time, milliseconds since 1970. May jump. */
  now(): number;
  /** Milliseconds that only move forward; for durations. */
  monotonic(): number;
  /** Calls back once after `ms`; disposing cancels it. The timer does not keep the process alive unless `keepAlive`. */
  timer(ms: number, callback: () => void, options?: { keepAlive?: boolean }): Disposable;
}

const LONGEST_TIMER_MS = 3_600_000;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  timer(ms, callback, options = {}) {
    // setTimeout fires at once above 2^31-1 ms, and no timer is longer than an hour: re-arm instead.
    let handle: NodeJS.Timeout;
    let left = Math.max(0, ms);
    const arm = (): void => {
      const step = Math.min(left, LONGEST_TIMER_MS);
      left -= step;
      handle = setTimeout(() => (left > 0 ? arm() : callback()), step);
      if (options.keepAlive !== true) handle.unref();
    };
    arm();
    return { [Symbol.dispose]: () => clearTimeout(handle) };
  },
};

/**
 * For a look that is taken every `everyMs`: milliseconds until the next one, which falls on the same moment for all that look as
 * often. Many homes in one process then wake it once and not each by itself. Between 0.1 and 1.1 times `everyMs`.
 */
export function untilNextLook(clock: Pick<Clock, 'monotonic'>, everyMs: number): number {
  const rest = Math.ceil(everyMs - (clock.monotonic() % everyMs));
  // A timer may fire a little early.
  return rest < everyMs / 10 ? rest + everyMs : rest;
}

/** Waits `ms`; rejects with the signal's reason when aborted before. Keeps the process alive. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      timer[Symbol.dispose]();
      reject(signal?.reason);
    };
    const timer = clock.timer(
      ms,
      () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      },
      { keepAlive: true },
    );
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** A deadline passed; the thing waited for may still go on. */
export class DeadlineError extends Error {
  readonly ms: number;

  constructor(what: string, ms: number) {
    super(`${what} took longer than ${ms} ms`);
    this.ms = ms;
    this.name = 'DeadlineError';
  }
}

/** An AbortSignal that fires with a `DeadlineError` after `ms`; dispose it when the work is done. */
export function deadline(clock: Clock, ms: number, what: string): { signal: AbortSignal } & Disposable {
  const controller = new AbortController();
  const timer = clock.timer(ms, () => controller.abort(new DeadlineError(what, ms)), { keepAlive: true });
  return { signal: controller.signal, [Symbol.dispose]: () => timer[Symbol.dispose]() };
}

/** Settles like `promise`, or rejects with the signal's reason as soon as it aborts. */
export function raceAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) {
      promise.catch(() => {});
      reject(signal.reason);
      return;
    }
    signal.addEventListener('abort', onAbort, { once: true });
    const settled = (): void => signal.removeEventListener('abort', onAbort);
    promise.then(
      (value) => {
        settled();
        resolve(value);
      },
      (error: unknown) => {
        settled();
        reject(error);
      },
    );
  });
}
