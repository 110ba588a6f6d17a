import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import type { Allowances } from '../journal/allowances.ts';
import type { Answered } from '../journal/approval-answers.ts';
import type { ApprovalLedger, ApprovalRow, AskedRequest } from '../journal/approvals.ts';
import { approvalHash } from '../security/approval-hash.ts';
import { sha256 } from '../storage/change-log.ts';
import type { ApprovalAnswer, ApprovalRequest } from '../tools/tool.ts';
import { deadline, raceAbort, type Clock } from '../util/clock.ts';
import type { Random } from '../util/random.ts';
import { questionTo, shownRequest, type AttachedWhole } from './approval-question.ts';
import { questionCode } from './question-code.ts';

/** Silence for so long is a no. */
const WAIT_MS = 600_000;

/** Characters; nobody reads more before a yes. */
const MOST_CHARS = 1_000_000;

/** Who sits at a terminal. */
const TERMINAL = 'terminal:owner';

/** What a person at a terminal says: yes, no, yes from now on, or no and why. */
export type Reply = boolean | 'always' | { readonly reason: string };

/** Somebody who can be asked right now: a person at a terminal. */
export type Approver = (request: AskedRequest & { readonly id: string }, signal: AbortSignal) => Promise<Reply>;

/** Which call is asked about, and on whose behalf it would run. */
export interface AskedCall {
  readonly sessionKey: string;
  readonly callId: string;
  /** The turn that ends with the question. @default none */
  readonly turnId?: string;
  readonly signal: AbortSignal;
  /** The message that the turn answers. */
  readonly target?: InboundMessage | undefined;
}

export interface ApprovalsPorts {
  readonly ledger: ApprovalLedger;
  readonly allowances: Pick<Allowances, 'remember'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Takes configured secrets out of what is shown, and nothing else: what looks like a secret may be what runs. */
  readonly mask: (text: string) => string;
  /** How many messages of its platform a question takes. */
  readonly messages: (question: OutboundMessage) => number;
  /** Sends a text as a file; resolves when it is there, or with a sentence why it can not be. */
  readonly attach: (
    chat: InboundMessage,
    file: { readonly id: string; readonly name: string; readonly text: string },
    signal: AbortSignal,
  ) => Promise<{ readonly problem: string } | null>;
  /** Nobody needs an answer to this question any more; `words` say what became of it. Never throws. */
  readonly closed: (callId: string, words: string) => void;
  /** Where this is not a channel that is open, nobody reads questions there. */
  readonly reaches: (channel: string) => boolean;
}

const NOBODY: ApprovalAnswer = {
  approved: false,
  reason:
    'this needs a yes from the owner, and nobody can be asked in this chat; ask again in the terminal (assistant chat)',
};
const SILENCE: ApprovalAnswer = { approved: false, reason: 'the owner did not answer within 10 minutes' };
const CANCELLED: ApprovalAnswer = { approved: false, reason: 'the question was cancelled' };
const CHANGED: ApprovalAnswer = {
  approved: false,
  reason: 'it, or a file that it names, changed since the owner was asked',
};

/**
 * Finds the person who may allow a call, and waits for the answer: whoever sits at a terminal of the session, else the
 * owner in a chat, whose answer also counts after a restart. A terminal ends with the process that asked it, so its
 * question leaves no row: after a kill the call is asked anew, wherever somebody can be asked then. Where nobody can be
 * asked the answer is no.
 */
export class Approvals {
  readonly #ports: ApprovalsPorts;
  readonly #approvers = new Map<string, Approver[]>();
  readonly #waiting = new Map<
    string,
    { readonly session: string; readonly answer: (answer: ApprovalAnswer) => void }
  >();

  constructor(ports: ApprovalsPorts) {
    this.#ports = ports;
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

  /** Whether a person sits at a terminal of this session. */
  isAttended(sessionKey: string): boolean {
    return this.#approvers.has(sessionKey);
  }

  /** Told after the commit of a message that answers a question. */
  answered({ callId, approved, reason, by, name }: Answered): void {
    this.#waiting.get(callId)?.answer(approved ? { approved, by } : { approved, reason });
    this.#ports.closed(callId, `${approved ? 'Allowed' : 'Not allowed'} by ${name}.`);
  }

  /** Told after the commit of what ended a session's questions. */
  cancelled(sessionKey: string): void {
    for (const [callId, { session, answer }] of this.#waiting) {
      if (session !== sessionKey) continue;
      answer(CANCELLED);
      this.#ports.closed(callId, 'Cancelled.');
    }
  }

  async ask(call: AskedCall, asked: ApprovalRequest): Promise<ApprovalAnswer> {
    const { ledger, mask } = this.#ports;
    const { title, detail, hash = approvalHash({ title, detail }) } = asked;
    const earlier = ledger.get(call.callId);
    if (earlier !== undefined) return await this.#goOn(call, earlier, hash);
    const request = shownRequest(asked, mask);
    if (request.detail.length > MOST_CHARS) return tooLong(request, `more than ${MOST_CHARS} are never asked about`);
    const approver = this.#approvers.get(call.sessionKey)?.at(-1);
    if (approver !== undefined) return await this.#askTerminal(approver, call, request);
    const chat = this.#chatFor(call.target);
    return chat === undefined ? NOBODY : await this.#askChat(chat, call, { request, hash });
  }

  async #askChat(
    chat: InboundMessage,
    call: AskedCall,
    { request, hash }: { readonly request: AskedRequest; readonly hash: string },
  ): Promise<ApprovalAnswer> {
    const { ledger, clock, random } = this.#ports;
    const { callId, sessionKey, target, turnId } = call;
    const code = questionCode(random);
    const until = clock.now() + WAIT_MS;
    const facts = { callId, sessionKey, target, request, code, until };
    let question = questionTo(chat, facts);
    if (this.#ports.messages(question) > 1) {
      const file = await this.#attach(chat, call, request);
      if ('problem' in file) return tooLong(request, file.problem);
      question = questionTo(file.chat, { ...facts, whole: file.whole });
    }
    const turn = turnId ?? null;
    await ledger.ask({ callId, code, session: sessionKey, turn, deadline: until, hash, request, question });
    const row = ledger.get(callId);
    return row === undefined ? NOBODY : await this.#wait(call, row);
  }

  /** What is longer than a message goes into a file, into a chat that the owner reads alone: groups are shown no files. */
  async #attach(
    chat: InboundMessage,
    { callId, signal }: AskedCall,
    { detail }: AskedRequest,
  ): Promise<{ readonly problem: string } | { readonly chat: InboundMessage; readonly whole: AttachedWhole }> {
    const { ledger, reaches, attach } = this.#ports;
    const alone = chat.chatType === 'direct' ? chat : ledger.ownersChat();
    if (alone === undefined || !reaches(alone.channel)) {
      return { problem: 'a file with it is only sent to a direct chat with the owner, and none is known' };
    }
    const whole = { name: 'what-will-run.txt', characters: detail.length, hash: sha256(Buffer.from(detail)) };
    const problem = await attach(alone, { id: `${callId}:whole`, name: whole.name, text: detail }, signal);
    return problem ?? { chat: alone, whole };
  }

  async #askTerminal(approver: Approver, call: AskedCall, request: AskedRequest): Promise<ApprovalAnswer> {
    using waiting = deadline(this.#ports.clock, WAIT_MS, 'the question');
    const signal = AbortSignal.any([call.signal, waiting.signal]);
    let reply: Reply;
    try {
      reply = await raceAbort(approver({ ...request, id: call.callId }, signal), signal);
    } catch {
      return waiting.signal.aborted ? SILENCE : CANCELLED;
    }
    if (reply === true) return { approved: true, by: TERMINAL };
    if (reply === 'always' && request.always !== undefined) {
      await this.#ports.allowances.remember({ ...request.always, createdBy: TERMINAL });
      return { approved: true, by: `${TERMINAL}, for good` };
    }
    const why = typeof reply === 'object' ? `the owner said: ${reply.reason}` : 'the owner said no';
    return { approved: false, reason: why };
  }

  /** A question that was asked before, perhaps by an earlier process. */
  async #goOn(call: AskedCall, row: ApprovalRow, hash: string): Promise<ApprovalAnswer> {
    if (row.hash === hash || (row.state !== 'waiting' && row.state !== 'approved')) return await this.#wait(call, row);
    await this.#ports.ledger.end(call.callId, 'cancelled');
    return CHANGED;
  }

  async #wait({ callId, sessionKey, signal }: AskedCall, row: ApprovalRow): Promise<ApprovalAnswer> {
    if (row.state !== 'waiting') return answerOf(row);
    const { clock, ledger } = this.#ports;
    const answer = Promise.withResolvers<ApprovalAnswer>();
    this.#waiting.set(callId, { session: sessionKey, answer: answer.resolve });
    using limit = deadline(clock, Math.max(0, row.deadline - clock.now()), 'the question');
    try {
      // It may have been answered between reading the row and listening.
      const now = ledger.get(callId);
      if (now !== undefined && now.state !== 'waiting') return answerOf(now);
      return await raceAbort(answer.promise, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      if (signal.aborted) throw error;
      await ledger.end(callId, 'expired');
      this.#ports.closed(callId, 'Expired: nobody answered within 10 minutes.');
      const now = ledger.get(callId);
      return now === undefined ? SILENCE : answerOf(now);
    } finally {
      this.#waiting.delete(callId);
    }
  }

  /** The owner's own chat or a group they wrote in, if the turn is there; else the one in which they last wrote alone. */
  #chatFor(target: InboundMessage | undefined): InboundMessage | undefined {
    const { reaches, ledger } = this.#ports;
    if (target !== undefined && target.origin === 'user' && reaches(target.channel)) {
      const isHere = target.chatType === 'direct' ? target.role === 'owner' : ledger.hasOwner(target);
      if (isHere) return target;
    }
    const chat = ledger.ownersChat();
    return chat !== undefined && reaches(chat.channel) ? chat : undefined;
  }
}

/** What the model reads of what can not be shown whole. */
function tooLong({ detail }: AskedRequest, why: string): ApprovalAnswer {
  const reason = `the owner has to read all of it first, it has ${detail.length} characters, and ${why}; make it shorter, or do it in several calls`;
  return { approved: false, reason };
}

function answerOf({ state, reason, answeredBy: by }: ApprovalRow): ApprovalAnswer {
  switch (state) {
    case 'approved':
      return { approved: true, by: by ?? 'an owner' };
    case 'expired':
      return SILENCE;
    case 'cancelled':
      return CANCELLED;
    case 'denied':
    case 'waiting':
      return { approved: false, reason: reason ?? 'the owner said no' };
  }
}
