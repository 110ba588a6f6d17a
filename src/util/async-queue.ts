/** Wakes a single waiting consumer; wake-ups while nobody waits are remembered as one. */
export class Wake {
  #pending = false;
  #resolve: (() => void) | undefined;

  wake(): void {
    if (this.#resolve === undefined) {
      this.#pending = true;
      return;
    }
    const resolve = this.#resolve;
    this.#resolve = undefined;
    resolve();
  }

  /** Resolves at the next (or a remembered) wake-up, or when the signal aborts. */
  async wait(signal: AbortSignal): Promise<void> {
    if (this.#pending || signal.aborted) {
      this.#pending = false;
      return;
    }
    await new Promise<void>((resolve) => {
      const onAbort = (): void => this.wake();
      this.#resolve = () => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }
}

/** An unbounded in-memory queue with a closable async iterator; its owner bounds what goes in. */
export class AsyncQueue<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  readonly #wake = new Wake();
  readonly #closed = new AbortController();

  get size(): number {
    return this.#items.length;
  }

  push(item: T): void {
    if (this.#closed.signal.aborted) return;
    this.#items.push(item);
    this.#wake.wake();
  }

  /** Ends the iteration after the items already queued. */
  close(): void {
    this.#closed.abort();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T> {
    for (;;) {
      while (this.#items.length > 0) yield this.#items.shift() as T;
      if (this.#closed.signal.aborted) return;
      await this.#wake.wait(this.#closed.signal);
    }
  }
}
