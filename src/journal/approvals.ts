import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { cancelAsks } from './asks.ts';
import type { Outbox } from './outbox.ts';
import { parseInbound, placeholders, type LedgerPorts } from './rows.ts';

export type ApprovalState = 'waiting' | 'approved' | 'denied' | 'expired' | 'cancelled';

/** What a person is asked, as it was shown to them. */
export interface AskedRequest {
  readonly title: string;
  readonly detail: string;
  readonly reason: string;
  /** What "always" would remember; without it only this call can be allowed. */
  readonly always?: { readonly program: readonly string[]; readonly folder: string; readonly hash: string } | undefined;
}

/** A question to the owner, whether one call may run. It outlives the process. */
export interface ApprovalRow {
  readonly callId: string;
  /** How people name it. Nobody can guess it. */
  readonly code: string;
  readonly session: string;
  readonly channel: string;
  readonly chat: string;
  readonly state: ApprovalState;
  /** Why not. */
  readonly reason: string | null;
  /** `channel:id` of who answered. */
  readonly answeredBy: string | null;
  /** Milliseconds since 1970; silence until then is a no. */
  readonly deadline: number;
  /** Of all that the answer covers. */
  readonly hash: string;
  readonly request: AskedRequest;
}

export interface ApprovalDraft extends Pick<
  ApprovalRow,
  'callId' | 'code' | 'session' | 'deadline' | 'hash' | 'request'
> {
  readonly turn: string | null;
  readonly question: OutboundMessage;
}

export type ApprovalPorts = LedgerPorts & { readonly outbox: Outbox };

/** Questions to the owner. Answers are taken where messages are accepted (approval-answers.ts). */
export class ApprovalLedger {
  readonly #ports: ApprovalPorts;

  constructor(ports: ApprovalPorts) {
    this.#ports = ports;
  }

  get(callId: string): ApprovalRow | undefined {
    return this.#ports.db.all('SELECT * FROM approvals WHERE call_id = ?', callId).map(toApproval)[0];
  }

  /** Questions that can still be answered, oldest first. */
  waiting(): readonly ApprovalRow[] {
    const { db, clock } = this.#ports;
    return db
      .all("SELECT * FROM approvals WHERE state = 'waiting' AND deadline > ? ORDER BY created_at", clock.now())
      .map(toApproval);
  }

  /** Writes the question down and queues it, in one transaction. One that was asked already is not asked again. */
  ask({ callId, code, session, turn, deadline, hash, request, question }: ApprovalDraft): Promise<void> {
    const { db, clock, outbox } = this.#ports;
    return db.write(() => {
      const added = db.run(
        `INSERT OR IGNORE INTO approvals
           (call_id, code, session, turn, channel, chat, thread, state, deadline, hash, request, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?, ?, ?)`,
        callId,
        code,
        session,
        turn,
        question.channel,
        question.chatId,
        question.threadId ?? null,
        deadline,
        hash,
        JSON.stringify(request),
        clock.now(),
        clock.now(),
      );
      if (added > 0) outbox.insert({ message: question, parts: [] });
    });
  }

  /** Ends a question that waits without an answer. */
  end(callId: string, state: 'expired' | 'cancelled'): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        "UPDATE approvals SET state = ?, updated_at = ? WHERE call_id = ? AND state = 'waiting'",
        state,
        clock.now(),
        callId,
      );
    });
  }

  /** The chat in which an owner last wrote alone; `among` these channels. @default all but the terminal */
  ownersChat(among?: readonly string[]): InboundMessage | undefined {
    const where = among === undefined ? "channel <> 'terminal'" : `channel IN (${placeholders(among)})`;
    return this.#ports.db
      .all(`SELECT payload FROM owner_chats WHERE direct = 1 AND ${where} ORDER BY seq DESC LIMIT 1`, ...(among ?? []))
      .map((row) => parseInbound(row.text('payload')))[0];
  }

  /** What an owner last wrote in a chat. */
  ownersWords(channel: string, chatId: string): InboundMessage | undefined {
    return this.#ports.db
      .all('SELECT payload FROM owner_chats WHERE channel = ? AND chat = ?', channel, chatId)
      .map((row) => parseInbound(row.text('payload')))[0];
  }

  /** Whether an owner ever wrote in the chat of a message. */
  hasOwner({ channel, chatId }: InboundMessage): boolean {
    const found = this.#ports.db.get('SELECT 1 FROM owner_chats WHERE channel = ? AND chat = ?', channel, chatId);
    return found !== undefined;
  }
}

/** Part of a transaction of the caller's: nobody needs an answer to these any more, nor to the model's own questions. */
export function cancelQuestions(
  ports: LedgerPorts,
  of: { readonly session: string } | { readonly turn: string },
): void {
  const { db, clock } = ports;
  cancelAsks(ports, of);
  const [column, value] = 'session' in of ? ['session', of.session] : ['turn', of.turn];
  db.run(
    `UPDATE approvals SET state = 'cancelled', updated_at = ? WHERE ${column} = ? AND state = 'waiting'`,
    clock.now(),
    value,
  );
}

export function toApproval(row: Row): ApprovalRow {
  return {
    callId: row.text('call_id'),
    code: row.text('code'),
    session: row.text('session'),
    channel: row.text('channel'),
    chat: row.text('chat'),
    state: stateOf(row.text('state')),
    reason: row.textOrNull('reason'),
    answeredBy: row.textOrNull('answered_by'),
    deadline: row.number('deadline'),
    hash: row.text('hash'),
    request: JSON.parse(row.text('request')) as AskedRequest,
  };
}

/** Unknown words are a no. */
function stateOf(state: string): ApprovalState {
  return state === 'waiting' || state === 'approved' || state === 'expired' || state === 'cancelled' ? state : 'denied';
}
