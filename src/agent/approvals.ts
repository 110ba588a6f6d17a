import type { ApprovalAnswer, ApprovalRequest } from '../tools/tool.ts';
import { deadline, raceAbort, type Clock } from '../util/clock.ts';

/** Silence for so long is a no. */
const WAIT_MS = 600_000;

/** Somebody who can be asked right now: a person at a terminal. */
export type Approver = (request: ApprovalRequest & { readonly id: string }, signal: AbortSignal) => Promise<boolean>;

/** Finds the person who may allow a call, and waits for the answer. Where nobody can be asked the answer is no. */
export class Approvals {
  readonly #clock: Clock;
  readonly #approvers = new Map<string, Approver[]>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** While not disposed, questions of this session go to `approver`; the newest one is asked. */
  attach(sessionKey: string, approver: Approver): Disposable {
    const list = this.#approvers.get(sessionKey) ?? [];
    list.push(approver);
    this.#approvers.set(sessionKey, list);
    return {
      [Symbol.dispose]: () => {
        list.splice(list.indexOf(approver), 1);
        if (list.length === 0) this.#approvers.delete(sessionKey);
      },
    };
  }

  async ask(
    where: { sessionKey: string; callId: string; signal: AbortSignal },
    request: ApprovalRequest,
  ): Promise<ApprovalAnswer> {
    const approver = this.#approvers.get(where.sessionKey)?.at(-1);
    if (approver === undefined) {
      return {
        approved: false,
        reason:
          'this needs a yes from the owner, and nobody can be asked in this chat; ask again in the terminal (assistant chat)',
      };
    }
    using waiting = deadline(this.#clock, WAIT_MS, 'the question');
    const signal = AbortSignal.any([where.signal, waiting.signal]);
    try {
      const approved = await raceAbort(approver({ ...request, id: where.callId }, signal), signal);
      return approved ? { approved } : { approved, reason: 'the owner said no' };
    } catch {
      return {
        approved: false,
        reason: waiting.signal.aborted ? 'the owner did not answer within 10 minutes' : 'the question was cancelled',
      };
    }
  }
}
