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

/** Resolves when what waits in the event loop now had its turn. */
export function othersFirst(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
