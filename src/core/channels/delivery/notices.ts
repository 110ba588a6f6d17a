import type { App } from '../../app.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Outlets } from './next-part.ts';

/** Shortest time between two rounds of notices; messages that are lost meanwhile share the next notice. */
const TELL_EVERY_MS = 600_000;

/**
 * Tells the owner about messages that were not delivered, in a chat other than the one that lost them. If there is no such
 * chat, the journal keeps the loss, and the next answer in the chat that lost the message names it.
 */
export class OwnerNotices implements Disposable {
  readonly #app: App;
  readonly #outlets: Outlets;
  #timer: Disposable | undefined;
  /** By `Clock.monotonic`. */
  #notBefore = 0;
  #isDisposed = false;
  /** Resolves when the notices that were begun are in the journal. */
  settled: Promise<void> = Promise.resolve();

  constructor(app: App, outlets: Outlets) {
    this.#app = app;
    this.#outlets = outlets;
  }

  /** Writes the notices now, or when the shortest time since the last ones has passed. Never throws. */
  tell(): void {
    if (this.#isDisposed || this.#timer !== undefined) return;
    const { clock } = this.#app;
    const waitMs = this.#notBefore - clock.monotonic();
    if (waitMs > 0) {
      this.#timer = clock.timer(waitMs, () => {
        this.#timer = undefined;
        this.tell();
      });
      return;
    }
    this.settled = this.settled.then(() => this.#write());
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer?.[Symbol.dispose]();
  }

  async #write(): Promise<void> {
    const { journal, clock, log } = this.#app;
    if (this.#isDisposed) return;
    try {
      const notices = await journal.outbox.tellElsewhere(this.#outlets.running());
      if (notices > 0) this.#notBefore = clock.monotonic() + TELL_EVERY_MS;
    } catch (error) {
      log.warn('delivery: the owner could not be told of lost messages yet', { reason: errorMessage(error) });
    }
  }
}
