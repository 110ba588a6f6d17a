import type { Clock } from '../../core/util/clock.ts';

/** What happened so long ago counts for a third of what happens now, s. */
const MEAN_SECONDS = 180;

/**
 * What a home takes of a process: 1 because it is open, and the mean of its write transactions a second, of which a turn has
 * three and more. A process carries some 1,000 open homes, and some 800 transactions a second, so both count alike.
 */
export class HomeLoad {
  readonly #clock: Clock;
  #mean: number;
  #since: number;
  #transactions = 0;

  /** `last`: the load as an earlier gateway left it. */
  constructor(clock: Clock, last = 1) {
    this.#clock = clock;
    this.#mean = Math.max(0, last - 1);
    this.#since = clock.monotonic();
  }

  /** A write transaction was committed. */
  worked(): void {
    this.#transactions += 1;
  }

  /** The load up to now; at least 1, in hundredths. */
  now(): number {
    const at = this.#clock.monotonic();
    const seconds = (at - this.#since) / 1_000;
    if (seconds >= 1) {
      const kept = Math.exp(-seconds / MEAN_SECONDS);
      this.#mean = this.#mean * kept + (this.#transactions / seconds) * (1 - kept);
      this.#since = at;
      this.#transactions = 0;
    }
    return Math.round((1 + this.#mean) * 100) / 100;
  }
}
