import { sleep, type Clock } from '../../core/util/clock.ts';
import { NotPermitted, type Permit } from '../../core/util/permit.ts';
import type { Lease } from './lease.ts';

/** Between two looks whether a lease that ran out is renewed, ms. */
const AGAIN_MS = 100;

/** Granted while the home is this gateway's for certain. */
export class LeasePermit implements Permit, Disposable {
  readonly #lease: Lease;
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #timer: Disposable | undefined;
  #wasGranted = true;
  #isClosed = false;

  constructor(lease: Lease, clock: Clock) {
    this.#lease = lease;
    this.#clock = clock;
    lease.lost.addEventListener('abort', () => this.#look(), { once: true });
    this.#look();
  }

  get ended(): AbortSignal {
    return this.#lease.lost;
  }

  get isGranted(): boolean {
    return this.#lease.isHeld;
  }

  readonly check = (): void => {
    if (this.#lease.isHeld) return;
    // A process that wakes up comes here before its timers do.
    this.#look();
    throw new NotPermitted();
  };

  readonly granted = async (signal: AbortSignal): Promise<void> => {
    while (!this.#lease.isHeld) {
      this.#lease.lost.throwIfAborted();
      await sleep(this.#clock, AGAIN_MS, signal);
    }
  };

  readonly onWithdrawn = (listener: () => void): Disposable => {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  };

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #look(): void {
    this.#timer?.[Symbol.dispose]();
    const { isHeld, leftMs, lost } = this.#lease;
    const isWithdrawn = this.#wasGranted && !isHeld;
    this.#wasGranted = isHeld;
    if (!this.#isClosed && !lost.aborted)
      this.#timer = this.#clock.timer(isHeld ? leftMs : AGAIN_MS, () => this.#look());
    if (isWithdrawn) for (const listener of this.#listeners) listener();
  }
}
