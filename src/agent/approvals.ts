import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import { BUTTONS, type Answered, type ApprovalLedger, type ApprovalRow } from '../journal/approvals.ts';
import type { ApprovalAnswer, ApprovalRequest } from '../tools/tool.ts';
import { deadline, raceAbort, type Clock } from '../util/clock.ts';
import type { IdFactory } from '../util/ids.ts';

/** Silence for so long is a no. */
const WAIT_MS = 600_000;
const CODE_LENGTH = 8;

/** Somebody who can be asked right now: a person at a terminal. */
export type Approver = (request: ApprovalRequest & { readonly id: string }, signal: AbortSignal) => Promise<boolean>;

/** Which call is asked about, and on whose behalf it would run. */
export interface AskedCall {
  readonly sessionKey: string;
  readonly callId: string;
  readonly signal: AbortSignal;
  /** The message that the turn answers. */
  readonly target?: InboundMessage | undefined;
}

export interface ApprovalsPorts {
  readonly ledger: ApprovalLedger;
  readonly newId: IdFactory;
  readonly clock: Clock;
  /** Something was put into the outbox. */
  readonly written: () => void;
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

/**
 * Finds the person who may allow a call, and waits for the answer: whoever sits at a terminal of the session, else the
 * owner in their chat, whose answer also counts after a restart. Where nobody can be asked the answer is no.
 */
export class Approvals {
  readonly #ports: ApprovalsPorts;
  readonly #approvers = new Map<string, Approver[]>();
  readonly #waiting = new Map<string, (answer: ApprovalAnswer) => void>();

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

  /** Told after the commit of a message that answers a question. */
  answered({ callId, approved, reason }: Answered): void {
    this.#waiting.get(callId)?.(approved ? { approved } : { approved, reason });
  }

  async ask(call: AskedCall, request: ApprovalRequest): Promise<ApprovalAnswer> {
    const asked = this.#ports.ledger.get(call.callId);
    if (asked !== undefined) return await this.#wait(call, asked);
    const approver = this.#approvers.get(call.sessionKey)?.at(-1);
    if (approver !== undefined) return await this.#askTerminal(approver, call, request);
    const chat = this.#chatFor(call.target);
    if (chat === undefined) return NOBODY;
    const { ledger, newId, clock, written } = this.#ports;
    const code = newId().slice(-CODE_LENGTH).toLowerCase();
    const until = clock.now() + WAIT_MS;
    const question = questionTo(chat, { call, request, code, until });
    await ledger.ask({ callId: call.callId, code, session: call.sessionKey, deadline: until, question });
    written();
    const row = ledger.get(call.callId);
    return row === undefined ? NOBODY : await this.#wait(call, row);
  }

  async #askTerminal(approver: Approver, call: AskedCall, request: ApprovalRequest): Promise<ApprovalAnswer> {
    using waiting = deadline(this.#ports.clock, WAIT_MS, 'the question');
    const signal = AbortSignal.any([call.signal, waiting.signal]);
    try {
      const approved = await raceAbort(approver({ ...request, id: call.callId }, signal), signal);
      return approved ? { approved } : { approved, reason: 'the owner said no' };
    } catch {
      return waiting.signal.aborted ? SILENCE : CANCELLED;
    }
  }

  /** Waits for the answer to a question that was asked, perhaps by an earlier process. */
  async #wait({ callId, signal }: AskedCall, row: ApprovalRow): Promise<ApprovalAnswer> {
    if (row.state !== 'waiting') return answerOf(row);
    const { clock, ledger } = this.#ports;
    const answer = Promise.withResolvers<ApprovalAnswer>();
    this.#waiting.set(callId, answer.resolve);
    using limit = deadline(clock, Math.max(0, row.deadline - clock.now()), 'the question');
    try {
      // It may have been answered between reading the row and listening.
      const now = ledger.get(callId);
      if (now !== undefined && now.state !== 'waiting') return answerOf(now);
      return await raceAbort(answer.promise, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      if (signal.aborted) throw error;
      await ledger.expire(callId);
      return SILENCE;
    } finally {
      this.#waiting.delete(callId);
    }
  }

  /** The owner's chat that the turn is in, else the one in which the owner last wrote alone. */
  #chatFor(target: InboundMessage | undefined): InboundMessage | undefined {
    const { reaches, ledger } = this.#ports;
    const here = target?.role === 'owner' && target.chatType === 'direct' && target.origin === 'user';
    if (here && reaches(target.channel)) return target;
    const chat = ledger.ownersChat();
    return chat !== undefined && reaches(chat.channel) ? chat : undefined;
  }
}

function answerOf({ state, reason }: ApprovalRow): ApprovalAnswer {
  switch (state) {
    case 'approved':
      return { approved: true };
    case 'expired':
      return SILENCE;
    case 'cancelled':
      return CANCELLED;
    case 'denied':
    case 'waiting':
      return { approved: false, reason: reason ?? 'the owner said no' };
  }
}

function questionTo(
  chat: InboundMessage,
  { call, request, code, until }: { call: AskedCall; request: ApprovalRequest; code: string; until: number },
): OutboundMessage {
  const { target } = call;
  const elsewhere = target === undefined || target.chatId !== chat.chatId || target.channel !== chat.channel;
  const who = target?.sender.name ?? target?.sender.username ?? target?.sender.id ?? 'I';
  const where = elsewhere ? ` (for ${who} in ${call.sessionKey})` : '';
  const fence = '`'.repeat(1 + Math.max(2, ...[...request.detail.matchAll(/`+/gu)].map(([run]) => run.length)));
  const text = [
    `**${request.title}?**${where} ${request.reason}`,
    `${fence}\n${request.detail}\n${fence}`,
    `/approve ${code} or /deny ${code}, within 10 minutes. Anything else you write is a no.`,
  ].join('\n');
  return {
    id: `${call.callId}:question`,
    channel: chat.channel,
    chatId: chat.chatId,
    ...(chat.threadId === undefined ? {} : { threadId: chat.threadId }),
    kind: 'approval',
    text,
    media: [],
    buttons: [
      [
        { id: `${BUTTONS.approve}${code}`, label: 'Allow once' },
        { id: `${BUTTONS.deny}${code}`, label: 'Deny' },
      ],
    ],
    expiresAt: until,
    metadata: {},
  };
}
