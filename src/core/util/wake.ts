/** Wakes a single waiting consumer; wake-ups while no one waits are remembered as one. */
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

/** What those who wait do in one round of the event loop; the rest of them come in the next. */
const ROUND_MS = 6;
const MOST_IN_ROUND = 32;
const waiting: (() => void)[] = [];
let roundEnds = 0;
let isPlanned = false;

function planRound(): void {
  isPlanned = true;
  setImmediate(() => {
    roundEnds = performance.now() + ROUND_MS;
  });
  for (let n = Math.min(waiting.length, MOST_IN_ROUND); n > 0; n -= 1) {
    // One at a time: what a promise sets off is done when the next of these is called.
    setImmediate(() => {
      if (performance.now() < roundEnds) waiting.shift()?.();
    });
  }
  setImmediate(() => {
    isPlanned = false;
    if (waiting.length > 0) planRound();
  });
}

/**
 * Resolves in a round of the event loop that is not too long already: what many do at once, such as reading the answers
 * of many models, does not keep timers and connections waiting for all of it. First come, first served.
 */
export function shortRound(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (!isPlanned) planRound();
  });
}
