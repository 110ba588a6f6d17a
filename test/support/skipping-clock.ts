import { systemClock, type Clock } from '../../src/core/util/clock.ts';

interface Timer {
  readonly at: number;
  readonly callback: () => void;
  readonly options: { keepAlive?: boolean };
  running: Disposable;
}

/** Time that passes as it does, and can be skipped: whatever falls due in between comes at once, in its order. */
export class SkippingClock implements Clock {
  #skipped = 0;
  #ahead: number;
  readonly #timers = new Set<Timer>();

  /** `start`: the time it shows at first, ms since 1970. @default what the machine's shows */
  constructor(start = systemClock.now()) {
    this.#ahead = start - systemClock.now();
  }

  now(): number {
    return systemClock.now() + this.#ahead + this.#skipped;
  }

  monotonic(): number {
    return systemClock.monotonic() + this.#skipped;
  }

  timer(ms: number, callback: () => void, options: { keepAlive?: boolean } = {}): Disposable {
    const timer: Timer = { at: this.monotonic() + ms, callback, options, running: { [Symbol.dispose]: () => {} } };
    this.#timers.add(timer);
    this.#arm(timer);
    return {
      [Symbol.dispose]: () => {
        timer.running[Symbol.dispose]();
        this.#timers.delete(timer);
      },
    };
  }

  /** The wall is put forward or, where negative, back; timers do not notice. */
  jump(ms: number): void {
    this.#ahead += ms;
  }

  skip(ms: number): void {
    this.#skipped += ms;
    const due = [...this.#timers].toSorted((a, b) => a.at - b.at);
    for (const timer of due) {
      timer.running[Symbol.dispose]();
      this.#arm(timer);
    }
  }

  #arm(timer: Timer): void {
    const left = Math.max(0, timer.at - this.monotonic());
    timer.running = systemClock.timer(
      left,
      () => {
        this.#timers.delete(timer);
        timer.callback();
      },
      timer.options,
    );
  }
}
