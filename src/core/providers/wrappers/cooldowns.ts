import type { Clock } from '../../util/clock.ts';

const COOLDOWNS_MS = [30_000, 60_000, 300_000];
const LONGEST_MS = 3_600_000;

interface Cooldown {
  readonly until: number;
  /** Troubles in a row. */
  readonly troubles: number;
}

/** Which keys and models are left alone for a while after they failed: 30 s, then 1 min, then 5 min. */
export class Cooldowns {
  readonly #clock: Clock;
  /** One entry for each key and model that failed and has not succeeded since: a handful. */
  readonly #entries = new Map<string, Cooldown>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds until it may be used again; 0: now. */
  left(id: string): number {
    const until = this.#entries.get(id)?.until ?? 0;
    return Math.max(0, until - this.#clock.monotonic());
  }

  /**
   * Failing while it cools is the same trouble: the wait starts again and gets no longer. `askedMs`: how long the server
   * asked to be left alone; an hour of it counts, because credit may be bought meanwhile.
   */
  fail(id: string, askedMs = 0): void {
    const before = this.#entries.get(id)?.troubles ?? 0;
    const troubles = this.left(id) > 0 ? before : before + 1;
    const ms = COOLDOWNS_MS[Math.min(troubles, COOLDOWNS_MS.length) - 1] ?? 0;
    this.#entries.set(id, { until: this.#clock.monotonic() + Math.max(ms, Math.min(askedMs, LONGEST_MS)), troubles });
  }

  succeed(id: string): void {
    this.#entries.delete(id);
  }
}
