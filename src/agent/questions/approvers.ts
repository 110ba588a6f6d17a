import { raceAbort } from '../../util/clock.ts';
import type { AskedRequest } from '../../journal/questions.ts';

/** The answer of a person at a terminal: yes, no, yes from now on, or no with a reason. */
export type Reply = boolean | 'always' | { readonly reason: string };

/**
 * Asks the person at a terminal. Rejects when the terminal is closed or the signal aborts; with `approver-gone` when
 * somebody else has to be asked.
 */
export type Approver = (request: AskedRequest & { readonly id: string }, signal: AbortSignal) => Promise<Reply>;

/** The terminals that answer approvals, by session. */
export class Approvers {
  readonly #attached = new Map<string, Approver[]>();
  /** Woken by the next one of their session. */
  readonly #awaited = new Map<string, Set<() => void>>();

  /** Sends the approvals of this session to `approver` until the result is disposed of. */
  attach(sessionKey: string, approver: Approver): Disposable {
    const list = this.#attached.get(sessionKey) ?? [];
    list.push(approver);
    this.#attached.set(sessionKey, list);
    for (const wake of this.#awaited.get(sessionKey) ?? []) wake();
    return {
      [Symbol.dispose]: () => {
        list.splice(list.indexOf(approver), 1);
        if (list.length === 0 && this.#attached.get(sessionKey) === list) this.#attached.delete(sessionKey);
      },
    };
  }

  has(sessionKey: string): boolean {
    return this.#attached.has(sessionKey);
  }

  newest(sessionKey: string): Approver | undefined {
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
