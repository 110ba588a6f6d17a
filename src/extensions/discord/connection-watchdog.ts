import type { Clock } from '../../core/api.ts';

/** The longest silence; Discord answers a heartbeat about every 41 s. */
const LONGEST_SILENCE_MS = 75_000;
const SHORTEST_SILENCE_MS = 2_000;
/** In beats. */
const PATIENCE = 2.5;
/** How long a lost connection may take to come back. */
const RETURN_MS = 30_000;

/** Watches a connection: calls once when it was silent for 2.5 heartbeats, or was lost and did not come back within 30 s. */
export class ConnectionWatchdog implements Disposable {
  readonly #clock: Clock;
  readonly #died: (silentMs: number) => void;
  #heardAt: number;
  #answeredAt: number | undefined;
  #limitMs = LONGEST_SILENCE_MS;
  #isLost = true;
  #timer: Disposable;

  constructor(clock: Clock, died: (silentMs: number) => void) {
    this.#clock = clock;
    this.#died = died;
    this.#heardAt = clock.monotonic();
    this.#timer = this.#arm();
  }

  /** Something was heard; `isAnswer`: to a heartbeat, whose rhythm is learnt from that. */
  beat(isAnswer = false): void {
    const now = this.#clock.monotonic();
    this.#heardAt = now;
    if (!isAnswer) return;
    if (this.#answeredAt !== undefined) {
      const limit = (now - this.#answeredAt) * PATIENCE;
      this.#limitMs = Math.min(LONGEST_SILENCE_MS, Math.max(SHORTEST_SILENCE_MS, limit));
      this.#rearm();
    }
    this.#answeredAt = now;
  }

  lost(): void {
    this.#isLost = true;
    this.#answeredAt = undefined;
    this.#heardAt = this.#clock.monotonic();
    this.#rearm();
  }

  found(): void {
    this.#isLost = false;
    this.#rearm();
  }

  [Symbol.dispose](): void {
    this.#timer[Symbol.dispose]();
  }

  get #allowedMs(): number {
    return this.#isLost ? RETURN_MS : this.#limitMs;
  }

  #rearm(): void {
    this.#timer[Symbol.dispose]();
    this.#timer = this.#arm();
  }

  #arm(): Disposable {
    const silentMs = this.#clock.monotonic() - this.#heardAt;
    return this.#clock.timer(Math.max(0, this.#allowedMs - silentMs), () => this.#check());
  }

  #check(): void {
    const silentMs = this.#clock.monotonic() - this.#heardAt;
    if (silentMs >= this.#allowedMs) this.#died(silentMs);
    else this.#timer = this.#arm();
  }
}
