import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import type { Outbox } from './outbox.ts';
import { parseInbound, type LedgerPorts } from './rows.ts';

export type ApprovalState = 'waiting' | 'approved' | 'denied' | 'expired' | 'cancelled';

/** A question to the owner, whether one call may run. It outlives the process. */
export interface ApprovalRow {
  readonly callId: string;
  /** How people name it. */
  readonly code: string;
  readonly session: string;
  readonly state: ApprovalState;
  /** Why not. */
  readonly reason: string | null;
  /** Milliseconds since 1970; silence until then is a no. */
  readonly deadline: number;
}

export interface ApprovalDraft {
  readonly callId: string;
  readonly code: string;
  readonly session: string;
  readonly deadline: number;
  readonly question: OutboundMessage;
}

type ApprovalPorts = LedgerPorts & { readonly outbox: Outbox };

const COLUMNS = 'call_id, code, session, state, reason, deadline';

/** Questions to the owner. Answers are taken where messages are accepted. */
export class ApprovalLedger {
  readonly #ports: ApprovalPorts;

  constructor(ports: ApprovalPorts) {
    this.#ports = ports;
  }

  get(callId: string): ApprovalRow | undefined {
    return this.#ports.db.all(`SELECT ${COLUMNS} FROM approvals WHERE call_id = ?`, callId).map(rowOf)[0];
  }

  /** Writes the question down and queues it, in one transaction. One that was asked already is not asked again. */
  ask({ callId, code, session, deadline, question }: ApprovalDraft): Promise<void> {
    const { db, clock, outbox } = this.#ports;
    return db.write(() => {
      const added = db.run(
        `INSERT OR IGNORE INTO approvals
           (call_id, code, session, channel, chat, thread, state, deadline, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?)`,
        callId,
        code,
        session,
        question.channel,
        question.chatId,
        question.threadId ?? null,
        deadline,
        clock.now(),
        clock.now(),
      );
      if (added > 0) outbox.insert({ message: question, parts: [] });
    });
  }

  expire(callId: string): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        "UPDATE approvals SET state = 'expired', updated_at = ? WHERE call_id = ? AND state = 'waiting'",
        clock.now(),
        callId,
      );
    });
  }

  /** The chat in which an owner last wrote alone. */
  ownersChat(): InboundMessage | undefined {
    return this.#ports.db
      .all(
        `SELECT payload FROM inbound WHERE role = 'owner' AND origin = 'user' AND channel <> 'terminal'
         AND payload IS NOT NULL ORDER BY seq DESC LIMIT 50`,
      )
      .map((row) => parseInbound(row.text('payload')))
      .find(({ chatType }) => chatType === 'direct');
  }
}

/** What a message did to a question. */
export interface Answered {
  readonly callId: string;
  readonly approved: boolean;
  readonly reason: string;
}

interface Answer {
  readonly approve: boolean;
  /** As the person wrote it; null: the one that waits in this chat. */
  readonly code: string | null;
  readonly reason: string;
}

/**
 * Part of the transaction that accepts a message: when it answers a question, or tries to, it is settled here and gets
 * no turn. Null: it is about something else.
 */
export function answerQuestion(ports: ApprovalPorts, message: InboundMessage): { answered: Answered | null } | null {
  const answer = answerIn(message);
  if (answer !== null) return { answered: settle(ports, message, answer) };
  // What the owner says instead of an answer is a no, and why.
  if (message.role !== 'owner' || message.origin !== 'user' || message.untrusted) return null;
  if (message.text.trim() === '' || /^[/,]/u.test(message.text)) return null;
  const open = openIn(ports, message);
  if (open === undefined) return null;
  return { answered: decide(ports, message, open, { approve: false, code: null, reason: message.text.trim() }) };
}

/** Inside the transaction of a /stop. */
export function cancelQuestions({ db, clock }: LedgerPorts, session: string): void {
  db.run(
    "UPDATE approvals SET state = 'cancelled', updated_at = ? WHERE session = ? AND state = 'waiting'",
    clock.now(),
    session,
  );
}

/** Ids of the buttons under a question. */
export const BUTTONS = { approve: 'approval:yes:', deny: 'approval:no:' } as const;

function answerIn({ action, text, untrusted, origin }: InboundMessage): Answer | null {
  if (action !== undefined) {
    if (action.id.startsWith(BUTTONS.approve)) {
      return { approve: true, code: action.id.slice(BUTTONS.approve.length), reason: '' };
    }
    if (!action.id.startsWith(BUTTONS.deny)) return null;
    return { approve: false, code: action.id.slice(BUTTONS.deny.length), reason: '' };
  }
  if (untrusted || origin !== 'user') return null;
  const match = /^\/(?<word>approve|deny)(?:@\w+)?(?:\s+(?<code>\S+))?(?:\s+(?<reason>[\s\S]+))?$/iu.exec(text.trim());
  if (match?.groups === undefined) return null;
  const { word = '', code = null, reason = '' } = match.groups;
  return { approve: word.toLowerCase() === 'approve', code, reason: reason.trim() };
}

function settle(ports: ApprovalPorts, message: InboundMessage, answer: Answer): Answered | null {
  if (message.role !== 'owner') return say(ports, message, 'Only the owner may answer this.');
  const row = answer.code === null ? openIn(ports, message) : byCode(ports, answer.code);
  if (row === undefined) {
    const which = answer.code === null ? 'here' : `named ${answer.code.slice(0, 40)}`;
    return say(ports, message, `There is no open question ${which}.`);
  }
  if (row.state === 'waiting' && row.deadline > ports.clock.now()) return decide(ports, message, row, answer);
  const became = row.state === 'waiting' ? 'expired' : row.state;
  return say(ports, message, `That question is closed already (${became}).`);
}

function decide(ports: ApprovalPorts, message: InboundMessage, row: ApprovalRow, answer: Answer): Answered {
  const { db, clock } = ports;
  const { approve } = answer;
  const reason = approve ? '' : answer.reason === '' ? 'the owner said no' : `the owner said: ${answer.reason}`;
  db.run(
    'UPDATE approvals SET state = ?, reason = ?, answered_by = ?, updated_at = ? WHERE call_id = ?',
    approve ? 'approved' : 'denied',
    reason,
    `${message.channel}:${message.sender.id}`,
    clock.now(),
    row.callId,
  );
  say(ports, message, approve ? 'Allowed, once.' : 'Not allowed.');
  return { callId: row.callId, approved: approve, reason };
}

function say({ outbox, clock }: ApprovalPorts, message: InboundMessage, text: string): null {
  const { channel, chatId, threadId } = message;
  outbox.insert({
    message: {
      id: `${message.id}:0`,
      channel,
      chatId,
      ...(threadId === undefined ? {} : { threadId }),
      kind: 'notice',
      text,
      media: [],
      expiresAt: clock.now() + 3_600_000,
      metadata: {},
    },
    parts: [],
  });
  return null;
}

function byCode({ db }: ApprovalPorts, code: string): ApprovalRow | undefined {
  return db.all(`SELECT ${COLUMNS} FROM approvals WHERE code = ?`, code.toLowerCase()).map(rowOf)[0];
}

/** The newest question that waits in the chat of a message. */
function openIn({ db, clock }: ApprovalPorts, { channel, chatId, threadId }: InboundMessage): ApprovalRow | undefined {
  return db
    .all(
      `SELECT ${COLUMNS} FROM approvals
       WHERE channel = ? AND chat = ? AND thread IS ? AND state = 'waiting' AND deadline > ?
       ORDER BY created_at DESC LIMIT 1`,
      channel,
      chatId,
      threadId ?? null,
      clock.now(),
    )
    .map(rowOf)[0];
}

function rowOf(row: {
  text(name: string): string;
  textOrNull(name: string): string | null;
  number(name: string): number;
}): ApprovalRow {
  return {
    callId: row.text('call_id'),
    code: row.text('code'),
    session: row.text('session'),
    state: stateOf(row.text('state')),
    reason: row.textOrNull('reason'),
    deadline: row.number('deadline'),
  };
}

/** Unknown words are a no. */
function stateOf(state: string): ApprovalState {
  return state === 'waiting' || state === 'approved' || state === 'expired' || state === 'cancelled' ? state : 'denied';
}
