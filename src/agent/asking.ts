import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import { CHOICE, type AskLedger, type AskRow, type AskTaken } from '../journal/asks.ts';
import type { AskAnswer, AskedQuestion } from '../tools/tool.ts';
import { deadline, raceAbort, type Clock } from '../util/clock.ts';
import type { Random } from '../util/random.ts';
import { chatOf } from './outgoing.ts';
import { questionCode } from './question-code.ts';

/** Silence for so long is no answer. */
const WAIT_MS = 3_600_000;

/** Which call asks, and whom. */
export interface AskingCall {
  readonly sessionKey: string;
  readonly callId: string;
  readonly turnId: string;
  readonly signal: AbortSignal;
  /** The message that the turn answers. */
  readonly target: InboundMessage | undefined;
}

export interface AskingPorts {
  readonly ledger: AskLedger;
  readonly clock: Clock;
  readonly random: Random;
  /** Takes secrets out of what is shown. */
  readonly redact: (text: string) => string;
  /** Nobody needs an answer to this question any more; `words` say what became of it. Never throws. */
  readonly closed: (callId: string, words: string) => void;
  /** Whether somebody reads what is said in a chat, and can answer. */
  readonly reaches: (target: InboundMessage) => boolean;
}

const NOBODY: AskAnswer = { answered: false, reason: 'nobody can be asked here' };
const SILENCE: AskAnswer = { answered: false, reason: 'nobody answered within an hour' };
const CANCELLED: AskAnswer = { answered: false, reason: 'the question was cancelled' };

/**
 * Asks the person whom a turn answers, in their chat, and waits for their next words there. The question is kept: after
 * a restart it is the same one, with the same deadline, and an answer that came meanwhile counts.
 */
export class Asking {
  readonly #ports: AskingPorts;
  readonly #waiting = new Map<string, { readonly session: string; readonly wake: () => void }>();

  constructor(ports: AskingPorts) {
    this.#ports = ports;
  }

  /** Told after the commit of a message that answers a question. */
  answered({ callId }: AskTaken): void {
    this.#waiting.get(callId)?.wake();
    this.#ports.closed(callId, 'Answered.');
  }

  /** Told after the commit of what ended a session's questions. */
  cancelled(sessionKey: string): void {
    for (const [callId, { session, wake }] of this.#waiting) {
      if (session !== sessionKey) continue;
      wake();
      this.#ports.closed(callId, 'Cancelled.');
    }
  }

  async ask(call: AskingCall, asked: AskedQuestion): Promise<AskAnswer> {
    const { ledger, clock, random, reaches } = this.#ports;
    const { callId, sessionKey: session, turnId: turn, target } = call;
    if (ledger.get(callId) === undefined) {
      if (target === undefined || target.origin !== 'user' || !reaches(target)) return NOBODY;
      const code = questionCode(random);
      const until = clock.now() + WAIT_MS;
      const question = this.#question(target, { callId, code, until, asked });
      const { choices } = asked;
      const person = target.sender.id;
      await ledger.ask({ callId, code, session, turn, person, choices, deadline: until, question });
    }
    const row = ledger.get(callId);
    return row === undefined ? NOBODY : await this.#wait(call, row);
  }

  async #wait({ callId, sessionKey, signal }: AskingCall, row: AskRow): Promise<AskAnswer> {
    const { clock, ledger, closed } = this.#ports;
    const woken = Promise.withResolvers<void>();
    this.#waiting.set(callId, { session: sessionKey, wake: woken.resolve });
    using limit = deadline(clock, Math.max(0, row.deadline - clock.now()), 'the question');
    try {
      // It may have been answered between reading the row and listening.
      if (ledger.get(callId)?.state === 'waiting') {
        await raceAbort(woken.promise, AbortSignal.any([signal, limit.signal]));
      }
    } catch (error) {
      if (signal.aborted) throw error;
      await ledger.expire(callId);
      closed(callId, 'Nobody answered in time.');
    } finally {
      this.#waiting.delete(callId);
    }
    return answerOf(ledger.get(callId));
  }

  #question(
    target: InboundMessage,
    facts: { readonly callId: string; readonly code: string; readonly until: number; readonly asked: AskedQuestion },
  ): OutboundMessage {
    const { callId, code, until, asked } = facts;
    const { redact } = this.#ports;
    const choices = asked.choices.map(redact);
    const listed = choices.map((choice, n) => `${n + 1}. ${choice}`).join('\n');
    return {
      id: `${callId}:question`,
      ...chatOf(target),
      kind: 'approval',
      text: [redact(asked.text), ...(choices.length === 0 ? [] : [listed])].join('\n\n'),
      media: [],
      ...(choices.length === 0 ? {} : { buttons: choices.map((label, n) => [{ id: `${CHOICE}${code}:${n}`, label }]) }),
      expiresAt: until,
      metadata: {},
    };
  }
}

function answerOf(row: AskRow | undefined): AskAnswer {
  if (row?.state === 'answered') return { answered: true, text: row.answer ?? '' };
  return row?.state === 'expired' ? SILENCE : CANCELLED;
}
