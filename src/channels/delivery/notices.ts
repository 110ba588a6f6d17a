import type { Outbox } from '../../journal/outbox.ts';
import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { Outlets } from './next-part.ts';

/** Between two times that the owner is told: what ends meanwhile is one notice. */
const TELL_EVERY_MS = 600_000;

interface NoticePorts {
  readonly outbox: Pick<Outbox, 'tellElsewhere'>;
  readonly outlets: Pick<Outlets, 'running'>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Tells the owner, in another chat than the one concerned, of messages that ended without arriving. What cannot be told
 * so stays in the journal for the next answer of its chat.
 */
export class OwnerNotices implements Disposable {
  readonly #ports: NoticePorts;
  #timer: Disposable | undefined;
  /** Monotonic. */
  #notBefore = 0;
  #isDisposed = false;
  /** Resolves when what was begun is written. */
  settled: Promise<void> = Promise.resolve();

  constructor(ports: NoticePorts) {
    this.#ports = ports;
  }

  /** At once, or when the owner was told long enough ago. Never throws. */
  tell(): void {
    if (this.#isDisposed || this.#timer !== undefined) return;
    const { clock } = this.#ports;
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
    const { outbox, outlets, clock, log } = this.#ports;
    if (this.#isDisposed) return;
    try {
      const notices = await outbox.tellElsewhere(outlets.running());
      if (notices > 0) this.#notBefore = clock.monotonic() + TELL_EVERY_MS;
    } catch (error) {
      log.warn('delivery: the owner could not be told of lost messages yet', { reason: errorMessage(error) });
    }
  }
}
