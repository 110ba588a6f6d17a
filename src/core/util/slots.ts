/** A semaphore: at most `limit` tasks hold a slot at the same time; others wait in the order of their calls. */
export class Slots {
  readonly limit: number;
  #free: number;
  readonly #waiting: { readonly granted: () => void; readonly who: string | undefined }[] = [];

  constructor(limit: number) {
    this.limit = limit;
    this.#free = limit;
  }

  /**
   * Runs a task while it holds a slot; settles as the task does. Rejects when the signal aborts before there is a slot.
   * `who`: the name by which `isWaiting` finds it. @default none
   */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal, who?: string): Promise<T> {
    using _ = await this.hold(signal, who);
    return await task();
  }

  /** Waits for a slot; disposing frees it, a second time has no effect. Rejects when the signal aborts before there is one. */
  async hold(signal?: AbortSignal, who?: string): Promise<Disposable> {
    await this.#acquire(signal, who);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#release();
        isHeld = false;
      },
    };
  }

  /** Whether somebody of this name waits for a slot. */
  isWaiting(who: string): boolean {
    return this.#waiting.some((waiting) => waiting.who === who);
  }

  async #acquire(signal: AbortSignal | undefined, who: string | undefined): Promise<void> {
    signal?.throwIfAborted();
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const granted = (): void => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const onAbort = (): void => {
        const at = this.#waiting.findIndex((waiting) => waiting.granted === granted);
        if (at >= 0) this.#waiting.splice(at, 1);
        reject(signal?.reason);
      };
      this.#waiting.push({ granted, who });
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #release(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next.granted();
  }
}
