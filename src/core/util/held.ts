import { AsyncLocalStorage } from 'node:async_hooks';

/** What work began with; undefined once it has ended, so that what it leaves behind sees the newest. */
interface Kept<T> {
  value: T | undefined;
}

/** A value that is replaced while work goes on that has to end with the value it began with. */
export class Held<T extends object> {
  readonly #kept = new AsyncLocalStorage<Kept<T>>();
  #newest: T;

  constructor(first: T) {
    this.#newest = first;
  }

  /** Within `hold` the value that the work began with; elsewhere the newest. */
  get now(): T {
    return this.#kept.getStore()?.value ?? this.#newest;
  }

  get newest(): T {
    return this.#newest;
  }

  replace(next: T): void {
    this.#newest = next;
  }

  /** Does this work, and all that it calls and waits for, with the newest value, until it has ended. */
  async hold<R>(work: () => Promise<R>): Promise<R> {
    const kept: Kept<T> = { value: this.#newest };
    try {
      return await this.#kept.run(kept, work);
    } finally {
      kept.value = undefined;
    }
  }
}
