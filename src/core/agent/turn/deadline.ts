import type { Clock } from '../../util/clock.ts';

/** The deadline of a turn. Time in which the turn waits for a person does not count. */
export class TurnDeadline {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  #leftMs: number;
  #since = 0;
  #waits = 0;
  #timer: Disposable | undefined;

  /** Starts now. Calls `onEnd` once after `ms`, unless it is disposed of before. */
  constructor(clock: Clock, ms: number, onEnd: () => void) {
    this.#clock = clock;
    this.#leftMs = ms;
    this.#onEnd = onEnd;
    this.#start();
  }

  /** Stops the clock until the result, and that of every other pause, is disposed of. */
  pause(): Disposable {
    this.#waits += 1;
    if (this.#waits === 1) this.#stop();
    let over = false;
    return {
      [Symbol.dispose]: () => {
        if (over) return;
        over = true;
        this.#waits -= 1;
        if (this.#waits === 0) this.#start();
      },
    };
  }

  [Symbol.dispose](): void {
    this.#waits = Number.POSITIVE_INFINITY;
    this.#stop();
  }

  #start(): void {
    this.#since = this.#clock.monotonic();
    this.#timer = this.#clock.timer(this.#leftMs, this.#onEnd);
  }

  #stop(): void {
    if (this.#timer === undefined) return;
    this.#leftMs = Math.max(0, this.#leftMs - (this.#clock.monotonic() - this.#since));
    this.#timer[Symbol.dispose]();
    this.#timer = undefined;
  }
}
