import { apiFactsOf } from '../../bus/api.ts';
import { isEditorSession } from '../../bus/editor.ts';
import { parseChat, UNTRUSTED, type InboundMessage, type OutboundMessage } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import type { AnswerTaken } from '../../journal/answers.ts';
import type { AskedRequest, QuestionDraft, QuestionKind, QuestionRow } from '../../journal/questions.ts';
import { approvalHash } from '../../security/access/approval-hash.ts';
import { sha256 } from '../../storage/change-log.ts';
import type { ApprovalAnswer, ApprovalRequest, AskAnswer, AskedQuestion } from '../../tools/tool.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { Attached } from '../../util/attached.ts';
import { deadline, raceAbort } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import type { Random } from '../../util/random.ts';
import { cut } from '../../util/text.ts';
import type { Approver, Reply } from './approvers.ts';
import { closeQuestion } from './close.ts';
import { sendFile } from './send-file.ts';
import { approvalTo, askTo, shownRequest, type AttachedWhole } from './text.ts';

/** 32 characters that are hard to confuse. 256 is a multiple of 32, so a random byte picks each with the same chance. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz';
const LENGTH = 8;

/** How long a question waits. After it, an approval counts as refused, and a question of the model as not answered. */
const WAIT_MS: Readonly<Record<QuestionKind, number>> = { approval: 600_000, ask: 3_600_000 };

/** Characters that a message of any platform holds. */
const SHORTEST_LIMIT = 1_000;

/** A call whose text has more characters than this is refused without a question. */
const MOST_CHARS = 1_000_000;

/** The channel of a person at this machine, and how an approval names that person. */
const TERMINAL = 'terminal';
const AT_TERMINAL = `${TERMINAL}:owner`;

/** The tool call that asks, and the turn to which it belongs. */
export interface AskedCall {
  readonly sessionKey: string;
  readonly callId: string;
  /** The turn of the call: when it ends, its question is cancelled. @default none */
  readonly turnId?: string;
  readonly signal: AbortSignal;
  /** Untrusted text may have shaped what is asked. @default false */
  readonly untrusted?: boolean;
  /** The message that the turn answers. */
  readonly target?: InboundMessage;
}

/** Kind, code and deadline (`until`, ms since 1970) of a new question. */
type Named = Pick<QuestionDraft, 'kind' | 'code'> & { readonly until: number };

const nobody = (): string =>
  `the owner has to approve this, and no one can be asked in this chat; ask again in the terminal (${assistantCommand('chat')})`;
const NO_CHAT =
  'this needs a yes from the owner, and the program through which you are asked named no chat of the owner to ask in';
const NOBODY_TO_ASK: AskAnswer = { answered: false, reason: 'no one can be asked here' };
const SILENCE: Readonly<Record<QuestionKind, string>> = {
  approval: 'the owner did not answer within 10 minutes',
  ask: 'no one answered within an hour',
};
const CANCELLED = 'the question was cancelled';
const CHANGED = 'it, or a file that it names, changed since the owner was asked';

/**
 * Asks people and waits for their answers. There are two kinds of questions:
 * - approvals (may this call run?) go to the person at a terminal of the session, else to the owner in a chat; if no one
 *   can be asked, the answer is no;
 * - the model's own questions go to the person whom the turn answers.
 *
 * A question in a chat is a row of the journal: it survives a restart with its deadline, and an answer that came meanwhile
 * counts. A question at a terminal has no row: after a kill it is asked again.
 */
export class Questions {
  readonly #app: App;
  readonly #approvers = new Attached<Approver>();
  readonly #waiting = new Map<string, { readonly session: string; readonly wake: () => void }>();

  constructor(app: App) {
    this.#app = app;
  }

  /** Sends the approvals of this session to `approver` until the result is disposed of. With several, the newest is asked. */
  attach(sessionKey: string, approver: Approver): Disposable {
    return this.#approvers.attach(sessionKey, approver);
  }

  /** Whether a terminal is attached to this session. */
  isAttended(sessionKey: string): boolean {
    return this.#approvers.has(sessionKey);
  }

  /** Whether a turn of this session waits for a person's answer to a question in a chat. */
  isAsking(sessionKey: string): boolean {
    return [...this.#waiting.values()].some(({ session }) => session === sessionKey);
  }

  /** Call it after the commit of a message that answers a question, or tries to. */
  answered({ message, callId }: AnswerTaken): void {
    const row = callId === null ? undefined : this.#app.journal.questions.get(callId);
    if (row === undefined) return;
    this.#waiting.get(row.callId)?.wake();
    const verdict = row.state === 'approved' ? 'Allowed' : 'Not allowed';
    closeQuestion(this.#app, row.callId, row.kind === 'ask' ? 'Answered.' : `${verdict} by ${calledBy(message)}.`);
  }

  /** Call it after the commit that cancelled the questions of a session. */
  cancelled(sessionKey: string): void {
    for (const [callId, { session, wake }] of this.#waiting) {
      if (session !== sessionKey) continue;
      wake();
      closeQuestion(this.#app, callId, 'Cancelled.');
    }
  }

  /** Asks whether a call may run; waits up to 10 minutes. Without an answer it is not approved. */
  async approve(call: AskedCall, asked: ApprovalRequest): Promise<ApprovalAnswer> {
    const { journal, redact } = this.#app;
    const ledger = journal.questions;
    const { title, detail, hash = approvalHash({ title, detail }) } = asked;
    const earlier = ledger.get(call.callId);
    if (earlier !== undefined) return await this.#continue(call, earlier, hash);
    const request = shownRequest(asked, (text) => redact(text, { knownBy: 'value' }));
    if (request.detail.length > MOST_CHARS) return tooLong(request, `more than ${MOST_CHARS} are never asked about`);
    for (;;) {
      const approver = this.#approvers.newest(call.sessionKey);
      const answer = approver === undefined ? null : await this.#askTerminal(approver, call, request);
      if (answer !== null) return answer;
      const chat = this.#chatFor(call.target);
      if (chat !== undefined) return await this.#askOwner(chat, call, { request, hash });
      if (!isEditorSession(call.sessionKey)) return no(call.target?.origin === 'api' ? NO_CHAT : nobody());
      const late = await this.#untilAttended(call);
      if (late !== null) return late;
    }
  }

  /** Asks a question of the model to the person whom the turn answers; waits up to an hour. */
  async ask(call: AskedCall, { text, choices }: AskedQuestion): Promise<AskAnswer> {
    const { journal, redact } = this.#app;
    const ledger = journal.questions;
    const { callId, target } = call;
    if (ledger.get(callId) === undefined) {
      if (target === undefined || target.origin !== 'user' || !this.#reads(target)) return NOBODY_TO_ASK;
      const named = this.#named('ask');
      const shown = { text: redact(text), choices: choices.map((choice) => redact(choice)) };
      await this.#keep(call, named, {
        person: target.sender.id,
        own: target.chatType === 'direct',
        choices,
        hash: '',
        request: { title: shown.text, detail: '', reason: '' },
        message: marked(askTo(target, { callId, ...named }, shown), call),
      });
    }
    const row = await this.#settled(call);
    if (row?.state === 'answered') return { answered: true, text: row.answer ?? '' };
    return { answered: false, reason: row?.state === 'expired' ? SILENCE.ask : CANCELLED };
  }

  async #askOwner(
    asked: InboundMessage,
    call: AskedCall,
    { request, hash }: { readonly request: AskedRequest; readonly hash: string },
  ): Promise<ApprovalAnswer> {
    const { target } = call;
    let chat = asked;
    let whole: AttachedWhole | undefined;
    const named = this.#named('approval');
    const message = (): OutboundMessage =>
      marked(
        approvalTo(chat, { ...call, target, request, ...named, own: isOwn(chat, target), ...(whole && { whole }) }),
        call,
      );
    if (this.#messages(message()) > 1) {
      const file = await this.#attach(chat, call, request);
      if ('problem' in file) return tooLong(request, file.problem);
      ({ chat, whole } = file);
    }
    const about = { person: null, own: isOwn(chat, target), choices: [], hash, request };
    await this.#keep(call, named, { ...about, message: message() });
    return approvalOf(await this.#settled(call));
  }

  /** Into how many messages the channel splits a question. */
  #messages(question: OutboundMessage): number {
    const parts = this.#app.channels.manager.renderParts(question)?.length;
    return parts ?? (question.text.length > SHORTEST_LIMIT ? Infinity : 1);
  }

  #named(kind: QuestionKind): Named {
    const { clock, random } = this.#app;
    return { kind, code: questionCode(random), until: clock.now() + WAIT_MS[kind] };
  }

  async #keep(
    { callId, sessionKey, turnId }: AskedCall,
    { kind, code, until }: Named,
    about: Pick<QuestionDraft, 'person' | 'own' | 'choices' | 'hash' | 'request' | 'message'>,
  ): Promise<void> {
    const turn = turnId ?? null;
    await this.#app.journal.questions.ask({ callId, kind, code, session: sessionKey, turn, deadline: until, ...about });
  }

  /** Sends a text that is too long for a message as a file, always to a direct chat of the owner. */
  async #attach(
    chat: InboundMessage,
    { callId, signal }: AskedCall,
    { detail }: AskedRequest,
  ): Promise<{ readonly problem: string } | { readonly chat: InboundMessage; readonly whole: AttachedWhole }> {
    const alone = chat.chatType === 'direct' ? chat : this.#app.people.ownersChat();
    if (alone === undefined || !this.#app.channels.isOpen(alone.channel)) {
      return { problem: 'a file with it is only sent to a direct chat with the owner, and none is known' };
    }
    const whole = { name: 'what-will-run.txt', characters: detail.length, hash: sha256(Buffer.from(detail)) };
    const problem = await sendFile(this.#app, alone, { id: `${callId}:whole`, name: whole.name, text: detail }, signal);
    return problem ?? { chat: alone, whole };
  }

  /** Waits until somebody is attached to the session, as an editor is when it runs again; else the refusal. */
  async #untilAttended({ sessionKey, signal }: AskedCall): Promise<ApprovalAnswer | null> {
    using waiting = deadline(this.#app.clock, WAIT_MS.approval, 'the question');
    try {
      await this.#approvers.next(sessionKey, AbortSignal.any([signal, waiting.signal]));
      return null;
    } catch {
      const isLate = waiting.signal.aborted;
      return no(isLate ? SILENCE.approval : CANCELLED);
    }
  }

  /** Null: whoever was asked went away, and somebody else has to be. */
  async #askTerminal(approver: Approver, call: AskedCall, request: AskedRequest): Promise<ApprovalAnswer | null> {
    using waiting = deadline(this.#app.clock, WAIT_MS.approval, 'the question');
    const signal = AbortSignal.any([call.signal, waiting.signal]);
    let reply: Reply;
    try {
      reply = await raceAbort(approver({ ...request, id: call.callId }, signal), signal);
    } catch (error) {
      if (!signal.aborted && error instanceof AppError && error.code === 'approver-gone') return null;
      return no(waiting.signal.aborted ? SILENCE.approval : CANCELLED);
    }
    if (reply === true) return { approved: true, by: AT_TERMINAL };
    if (reply === 'always' && request.always !== undefined) {
      await this.#app.journal.allowances.remember({ ...request.always, createdBy: AT_TERMINAL });
      return { approved: true, by: `${AT_TERMINAL}, for good` };
    }
    return no(typeof reply === 'object' ? `the owner said: ${reply.reason}` : SAID_NO);
  }

  /** Waits for the answer to a question that was asked before, perhaps by an earlier process. */
  async #continue(call: AskedCall, row: QuestionRow, hash: string): Promise<ApprovalAnswer> {
    if (row.hash === hash || (row.state !== 'waiting' && row.state !== 'approved')) {
      return approvalOf(await this.#settled(call));
    }
    await this.#app.journal.questions.end(call.callId, 'cancelled');
    return no(CHANGED);
  }

  /** Waits until the question of a call is answered, cancelled or past its deadline, and returns its row. */
  async #settled({ callId, sessionKey, signal }: AskedCall): Promise<QuestionRow | undefined> {
    const { clock, journal } = this.#app;
    const ledger = journal.questions;
    const woken = Promise.withResolvers<void>();
    this.#waiting.set(callId, { session: sessionKey, wake: woken.resolve });
    try {
      // It may have been answered before this wait began.
      const row = ledger.get(callId);
      if (row?.state !== 'waiting') return row;
      using limit = deadline(clock, Math.max(0, row.deadline - clock.now()), 'the question');
      try {
        await raceAbort(woken.promise, AbortSignal.any([signal, limit.signal]));
      } catch (error) {
        if (signal.aborted) throw error;
        await ledger.end(callId, 'expired');
        closeQuestion(
          this.#app,
          callId,
          row.kind === 'ask' ? 'No one answered in time.' : 'Expired: no one answered within 10 minutes.',
        );
      }
      return ledger.get(callId);
    } finally {
      this.#waiting.delete(callId);
    }
  }

  /** Whether a person in the chat of this message can get and answer a question. */
  #reads({ channel, sessionKey }: InboundMessage): boolean {
    return channel === TERMINAL ? this.isAttended(sessionKey) : this.#app.channels.isOpen(channel);
  }

  /**
   * The chat for an approval: the turn's own, if it is a direct chat or a group of the owner; else the owner's newest direct
   * chat. For a program, the chat that it named, if an owner ever wrote there; otherwise no one is asked.
   */
  #chatFor(target: InboundMessage | undefined): InboundMessage | undefined {
    const { channels, journal, people } = this.#app;
    const ledger = journal.questions;
    const facts = apiFactsOf(target);
    if (facts !== null) {
      const named = facts.ask === null ? undefined : parseChat(facts.ask);
      if (named === undefined || !channels.isOpen(named.channel)) return undefined;
      return ledger.ownersWords(named.channel, named.chatId);
    }
    if (target !== undefined && target.origin === 'user' && channels.isOpen(target.channel)) {
      const isHere = target.chatType === 'direct' ? target.role === 'owner' : ledger.hasOwner(target);
      if (isHere) return target;
    }
    const chat = people.ownersChat();
    return chat !== undefined && channels.isOpen(chat.channel) ? chat : undefined;
  }
}

function marked(question: OutboundMessage, { untrusted = false }: AskedCall): OutboundMessage {
  return untrusted ? { ...question, metadata: { ...question.metadata, [UNTRUSTED]: true } } : question;
}

const SAID_NO = 'the owner said no';

function no(reason: string): ApprovalAnswer {
  return { approved: false, reason };
}

/** Whether the question belongs to a turn of the same direct chat, so that no one else can choose the time of the question. */
function isOwn(chat: InboundMessage, target: InboundMessage | undefined): boolean {
  return chat === target && chat.chatType === 'direct';
}

/** The refusal for a call whose text is too long to be shown whole. */
function tooLong({ detail }: AskedRequest, why: string): ApprovalAnswer {
  return no(
    `the owner has to read all of it first, it has ${detail.length} characters, and ${why}; make it shorter, or do it in several calls`,
  );
}

/** The approval that a row means: only the state `approved` is a yes. */
function approvalOf(row: QuestionRow | undefined): ApprovalAnswer {
  switch (row?.state) {
    case 'approved':
      return { approved: true, by: row.answeredBy ?? 'an owner' };
    case 'denied':
      return no(row.answer ?? SAID_NO);
    case 'expired':
      return no(SILENCE.approval);
    default:
      return no(CANCELLED);
  }
}

/** A person's name for a notice, with all signs removed that could imitate other text; the id when nothing is left. */
function calledBy({ sender: { name, username, id } }: InboundMessage): string {
  const plain = (name ?? username ?? id).replaceAll(/[^\p{L}\p{N} .'-]+/gu, ' ').trim();
  return plain === '' ? id : cut(plain, 60);
}

/** Makes the code by which people and buttons name a question; 40 random bits. */
function questionCode(random: Random): string {
  return Array.from(random.bytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}
