import { waitFor } from './wait.ts';
import { NotPermitted, type Permit } from '../../src/core/util/permit.ts';

/** A permit as of a lease, which a test takes back and gives again. */
export class ChangingPermit implements Permit {
  readonly #ended = new AbortController();
  readonly #listeners = new Set<() => void>();
  isGranted = true;
  readonly ended = this.#ended.signal;

  readonly check = (): void => {
    if (!this.isGranted) throw new NotPermitted();
  };

  readonly granted = async (signal: AbortSignal): Promise<void> => {
    await waitFor(() => this.isGranted || signal.aborted);
    signal.throwIfAborted();
  };

  readonly onWithdrawn = (listener: () => void): Disposable => {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  };

  /** As when a process wakes up: it is over, and nothing has been told of that yet. */
  withdraw(): void {
    this.isGranted = false;
  }

  /** As when a timer fires. */
  tell(): void {
    for (const listener of this.#listeners) listener();
  }

  grant(): void {
    this.isGranted = true;
  }

  /** It is another's for good. */
  end(): void {
    this.isGranted = false;
    this.tell();
    this.#ended.abort(new Error('another gateway took the home'));
  }
}
