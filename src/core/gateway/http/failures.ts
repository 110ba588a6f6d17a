import type { Clock } from '../../util/clock.ts';
import { RecentMap } from '../../util/recent-map.ts';

const WINDOW_MS = 60_000;
const MOST_OF_ONE = 10;
const MOST_OF_ALL = 100;
/** Addresses that are kept count of. */
const ADDRESSES = 1_000;

/** Counts failed logins, of each address and in all, on this machine too: 10 a minute, and 100 of everybody. */
export class Failures {
  readonly #clock: Clock;
  readonly #of = new RecentMap<string, readonly number[]>(ADDRESSES);
  #all: readonly number[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Seconds until this address may try again; 0: it may now. */
  waitFor(address: string): number {
    return Math.max(this.#wait(this.#of.get(address) ?? [], MOST_OF_ONE), this.#wait(this.#all, MOST_OF_ALL));
  }

  failed(address: string): void {
    const now = this.#clock.monotonic();
    const fresh = (times: readonly number[]): readonly number[] => [...times.filter((at) => at > now - WINDOW_MS), now];
    this.#of.set(address, fresh(this.#of.get(address) ?? []));
    this.#all = fresh(this.#all);
  }

  #wait(times: readonly number[], most: number): number {
    const at = times.at(-most);
    return at === undefined ? 0 : Math.max(0, Math.ceil((at + WINDOW_MS - this.#clock.monotonic()) / 1000));
  }
}
