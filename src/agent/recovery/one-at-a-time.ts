import { raceAbort, type Clock } from '../../util/clock.ts';

/** A turn that has run this long, ms, does not crash the process immediately: the next may begin. */
const PROBATION_MS = 120_000;

/** The permission for one suspected turn to run alone. Disposing lets the next begin. */
export interface Probation extends Disposable {
  /**
   * Call when the turn begins. The next turn may begin when this one has ended (dispose of the probation), when it
   * waits for a person (dispose of the returned value), or after two minutes; in the last two cases `proven` is called.
   */
  begin(proven: () => void): Disposable;
}

/**
 * Lets suspected turns run one after another, so that a crash of the process can be blamed on one of them. All assistants of a
 * process share one, because any of them ends the process for all.
 */
export class OneAtATime {
  readonly #clock: Clock;
  #before: Promise<void> = Promise.resolve();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Takes the next place in the queue. The returned function waits for it; it rejects when its signal aborts, and then the place is
   * passed over.
   */
  next(): (signal: AbortSignal) => Promise<Probation> {
    const before = this.#before;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#before = promise;
    return async (signal) => {
      try {
        await raceAbort(before, signal);
      } catch (error) {
        void before.then(resolve);
        throw error;
      }
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
