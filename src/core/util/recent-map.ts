/** A map that forgets its least recently used key when it holds more than `limit` keys. */
export class RecentMap<Key, Value> {
  readonly #limit: number;
  readonly #values = new Map<Key, Value>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#values.size;
  }

  /** Counts as a use. */
  get(key: Key): Value | undefined {
    const value = this.#values.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: Key, value: Value): void {
    this.#values.delete(key);
    this.#values.set(key, value);
    if (this.#values.size <= this.#limit) return;
    const oldest = this.#values.keys().next();
    if (oldest.done !== true) this.#values.delete(oldest.value);
  }

  delete(key: Key): void {
    this.#values.delete(key);
  }
}
