import { raceAbort, type Clock } from '../../util/clock.ts';

/** One that worked so long does not stop the process at once: the next may begin. */
const PROBATION_MS = 120_000;

/** The right to work while no other that waits for its turn has begun. Disposing lets the next begin. */
export interface Probation extends Disposable {
  /**
   * Begins to work. The next may begin when the work is over (the probation is disposed), when it waits for a person
   * (what is returned is disposed), or after two minutes; in the latter two `proven` is called.
   */
  begin(proven: () => void): Disposable;
}

/** Lets suspects work one after another, so that a process that dies has one to blame. */
export class OneAtATime {
  readonly #clock: Clock;
  #before: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The next place in the row; it resolves when its time has come and rejects when the signal aborts. */
  next(): (signal: AbortSignal) => Promise<Probation> {
    const before = this.#before;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#before = promise;
    return async (signal) => {
      await raceAbort(before, signal);
      let isOver = false;
      let timer: Disposable | undefined;
      const end = (): void => {
        isOver = true;
        timer?.[Symbol.dispose]();
        resolve();
      };
      return {
        begin: (proven) => {
          const pass = (): void => {
            if (isOver) return;
            end();
            proven();
          };
          timer = this.#clock.timer(PROBATION_MS, pass);
          return { [Symbol.dispose]: pass };
        },
        [Symbol.dispose]: end,
      };
    };
  }
}
