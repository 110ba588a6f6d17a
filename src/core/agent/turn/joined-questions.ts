import { approvalHash } from '../../security/access/approval-hash.ts';
import type { ApprovalAnswer, ApprovalRequest } from '../../tools/tool.ts';
import { sleep, type Clock } from '../../util/clock.ts';

/** A question waits this long for questions of parallel calls. */
const JOIN_MS = 100;

interface Asked {
  readonly callId: string;
  readonly request: ApprovalRequest;
}

/** Joins questions of the same kind that parallel calls ask into one. Its answer counts for each call. */
export class JoinedQuestions {
  readonly #approve: (callId: string, request: ApprovalRequest) => Promise<ApprovalAnswer>;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #open = new Map<string, { readonly asked: Asked[]; readonly answer: Promise<ApprovalAnswer> }>();

  constructor(
    approve: (callId: string, request: ApprovalRequest) => Promise<ApprovalAnswer>,
    { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
  ) {
    this.#approve = approve;
    this.#clock = clock;
    this.#signal = signal;
  }

  async approve(callId: string, request: ApprovalRequest): Promise<ApprovalAnswer> {
    const { joins } = request;
    if (joins === undefined) return await this.#approve(callId, request);
    const known = this.#open.get(joins);
    const asked = known?.asked ?? [];
    asked.push({ callId, request });
    const group = known ?? { asked, answer: this.#answer(joins, asked) };
    this.#open.set(joins, group);
    return await group.answer;
  }

  async #answer(title: string, asked: readonly Asked[]): Promise<ApprovalAnswer> {
    await sleep(this.#clock, JOIN_MS, this.#signal);
    this.#open.delete(title);
    // In the order of the calls, so that it is the same question after a restart.
    const all = asked.toSorted((a, b) => (a.callId < b.callId ? -1 : 1));
    const [first, ...others] = all;
    if (first === undefined) throw new TypeError('a question has a call that asks it');
    if (others.length === 0) return await this.#approve(first.callId, first.request);
    return await this.#approve(first.callId, {
      ...first.request,
      title,
      detail: all.map(({ request }) => request.detail).join('\n'),
      hash: approvalHash({ all: all.map(({ request: { title: one, detail, hash } }) => hash ?? [one, detail]) }),
    });
  }
}
