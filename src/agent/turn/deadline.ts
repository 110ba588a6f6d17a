import type { Clock } from '../../util/clock.ts';

/** The longest a turn may work. Time in which it waits for a person does not count. */
export class TurnDeadline {
  readonly #clock: Clock;
  readonly #onEnd: () => void;
  #leftMs: number;
  #since = 0;
  #waits = 0;
  #timer: Disposable | undefined;

  /** Runs from now on; calls `onEnd` once, unless disposed before. */
  constructor(clock: Clock, ms: number, onEnd: () => void) {
    this.#clock = clock;
    this.#leftMs = ms;
    this.#onEnd = onEnd;
    this.#start();
  }

  /** Stands still until every pause is disposed. */
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
