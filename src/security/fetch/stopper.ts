import type { Clock } from '../../util/clock.ts';
import type { AppError } from '../../util/errors.ts';

/** Ends one piece of work at its deadlines or at its caller's wish; whoever does the work waits on `signal`. */
export interface Stopper extends Disposable {
  /** Aborts with the deadline's error or the caller's reason. */
  readonly signal: AbortSignal;
  /** Stops after `ms` unless disposed before. */
  after(ms: number, error: () => AppError): Disposable;
  /** Stops at the end of the first window of `ms` that was not `enough`, unless disposed before. */
  unless(ms: number, window: { readonly enough: () => boolean; readonly error: () => AppError }): Disposable;
}

export function stopper(clock: Clock, caller: AbortSignal | undefined): Stopper {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(caller?.reason);
  if (caller?.aborted === true) onAbort();
  caller?.addEventListener('abort', onAbort, { once: true });
  return {
    signal: controller.signal,
    after: (ms, error) => clock.timer(ms, () => controller.abort(error()), { keepAlive: true }),
    unless(ms, { enough, error }) {
      const next = (): Disposable =>
        clock.timer(ms, () => {
          if (enough()) timer = next();
          else controller.abort(error());
        });
      let timer = next();
      return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
    },
    [Symbol.dispose]: () => caller?.removeEventListener('abort', onAbort),
  };
}
