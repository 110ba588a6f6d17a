import { raceAbort } from './clock.ts';

/** What is attached to sessions from outside, such as terminals and editors, by session. */
export class Attached<T> {
  readonly #attached = new Map<string, T[]>();
  /** Woken by the next one of their session. */
  readonly #awaited = new Map<string, Set<() => void>>();

  /** Attaches `one` to the session until the result is disposed of. */
  attach(sessionKey: string, one: T): Disposable {
    const list = this.#attached.get(sessionKey) ?? [];
    list.push(one);
    this.#attached.set(sessionKey, list);
    for (const wake of this.#awaited.get(sessionKey) ?? []) wake();
    return {
      [Symbol.dispose]: () => {
        const at = list.indexOf(one);
        if (at !== -1) list.splice(at, 1);
        if (list.length === 0 && this.#attached.get(sessionKey) === list) this.#attached.delete(sessionKey);
      },
    };
  }

  has(sessionKey: string): boolean {
    return this.#attached.has(sessionKey);
  }

  newest(sessionKey: string): T | undefined {
    return this.#attached.get(sessionKey)?.at(-1);
  }

  /** Resolves when one is attached to the session; rejects when the signal aborts. */
  async next(sessionKey: string, signal: AbortSignal): Promise<void> {
    if (this.has(sessionKey)) return;
    const attached = Promise.withResolvers<void>();
    const all = this.#awaited.get(sessionKey) ?? new Set();
    this.#awaited.set(sessionKey, all.add(attached.resolve));
    try {
      await raceAbort(attached.promise, signal);
    } finally {
      all.delete(attached.resolve);
      if (all.size === 0) this.#awaited.delete(sessionKey);
    }
  }
}
