import type { Clock } from '../../src/core/util/clock.ts';

interface Timer {
  at: number;
  readonly callback: () => void;
}

/** Time that stands still until a test moves it. */
export class VirtualClock implements Clock {
  #now: number;
  #start: number;
  readonly #timers = new Set<Timer>();
  /** Awaited before time moves on; a test that waits for more, such as the disk, says so here. */
  settled: () => Promise<void> = settle;

  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#now = start;
    this.#start = start;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now - this.#start;
  }

  timer(ms: number, callback: () => void): Disposable {
    const timer = { at: this.#now + Math.max(0, ms), callback };
    this.#timers.add(timer);
    return { [Symbol.dispose]: () => this.#timers.delete(timer) };
  }

  /** The wall clock is put forward or back, or the machine slept: no timer counts that time. */
  jump(ms: number): void {
    this.#now += ms;
    this.#start += ms;
    for (const timer of this.#timers) timer.at += ms;
  }

  /** Timers that have not fired. */
  get waiting(): number {
    return this.#timers.size;
  }

  /** Moves on by `ms`, firing what is due in order and letting each consequence settle before the next. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settled();
    for (;;) {
      const next = this.#nextDue(end);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.at);
      next.callback();
      await this.settled();
    }
    this.#now = end;
    await this.settled();
  }

  #nextDue(end: number): Timer | undefined {
    let next: Timer | undefined;
    for (const timer of this.#timers) if (timer.at <= end && (next === undefined || timer.at < next.at)) next = timer;
    return next;
  }
}

/** Lets promises, immediates and commits that are already under way run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 12; i += 1) await new Promise((resolve) => setImmediate(resolve));
}
