import type { Clock } from '../../core/util/clock.ts';
import type { Fleet } from './fleet.ts';

/** For how long a home stays where it came, towards gateways that were there before it. */
const SETTLED_MS = 60_000;

/**
 * Keeps a home from being handed on, or back, as soon as it came. Loads in the database are some seconds old and rise while the work
 * of a home is counted, so the next plan may undo this one, and each move costs the chats of the home some seconds.
 */
export class Settling {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** When each home came here, and since when each gateway is seen without a break; monotonic. */
  readonly #came = new Map<string, number>();
  readonly #seen = new Map<string, number>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** This gateway claimed a home. */
  came(home: string): void {
    this.#came.set(home, this.#clock.monotonic());
  }

  /** Call it with each look at the database. */
  sees({ gateways, homes }: Fleet): void {
    const now = this.#clock.monotonic();
    for (const { owner, isAlive, isTaking } of gateways) {
      if (!isAlive || !isTaking) this.#seen.delete(owner);
      else if (!this.#seen.has(owner)) this.#seen.set(owner, now);
    }
    const known = new Set(homes.map(({ name }) => name));
    for (const [home, at] of this.#came) if (now - at >= SETTLED_MS || !known.has(home)) this.#came.delete(home);
  }

  /** Whether a home is not handed over to the gateway of this owner yet, because the home came a short while ago and that gateway was there before. */
  stays(home: string, owner: string): boolean {
    const came = this.#came.get(home);
    return came !== undefined && (this.#seen.get(owner) ?? Infinity) <= came;
  }
}
