import type { TapeChange } from './statements.ts';

/** Who waits until a write transaction is committed. */
export interface Waiting {
  /** Waits for what there is to write, if there is anything. */
  readonly isLook?: boolean;
  readonly settled: PromiseWithResolvers<void>;
}

export interface QueuedTape extends Waiting {
  readonly change: TapeChange;
  /** It goes with the next transaction, and asks for none. */
  readonly isLater: boolean;
}

/** Bytes of tapes in one transaction; more wait for the next. */
const MOST_BYTES = 8 * 1024 * 1024;

/** Changes of tapes that no transaction has yet, in their order. */
export class TapeQueue {
  #items: QueuedTape[] = [];

  get isEmpty(): boolean {
    return this.#items.length === 0;
  }

  /** Somebody waits for one of them. */
  get isAsked(): boolean {
    return this.#items.some(({ isLater }) => !isLater);
  }

  add(change: TapeChange, isLater = false): QueuedTape {
    const item = { change, isLater, settled: Promise.withResolvers<void>() };
    this.#items.push(item);
    return item;
  }

  remove(item: QueuedTape): void {
    this.#items = this.#items.filter((one) => one !== item);
  }

  /** The first of them, as many as fit in one transaction. */
  take(): readonly QueuedTape[] {
    let bytes = 0;
    const end = this.#items.findIndex(({ change }) => (bytes += change.bytes.length) > MOST_BYTES);
    return this.#items.splice(0, end === -1 ? this.#items.length : Math.max(1, end));
  }

  takeAll(): readonly QueuedTape[] {
    return this.#items.splice(0);
  }
}
