import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import type { Outbox } from './outbox.ts';
import type { LedgerPorts } from './rows.ts';

type AskState = 'waiting' | 'answered' | 'expired' | 'cancelled';

/** A question of the model's to the person whom a turn answers. It outlives the process. */
export interface AskRow {
  readonly callId: string;
  readonly session: string;
  readonly state: AskState;
  /** What the person said. */
  readonly answer: string | null;
  /** Milliseconds since 1970; silence until then is no answer. */
  readonly deadline: number;
}

export interface AskDraft extends Pick<AskRow, 'callId' | 'session' | 'deadline'> {
  readonly turn: string;
  /** Who is asked; nobody else's words count. */
  readonly person: string;
  /** Nobody can guess it; names the question in its buttons. */
  readonly code: string;
  readonly choices: readonly string[];
  readonly question: OutboundMessage;
}

/** A message that answered a question. */
export interface AskTaken {
  readonly message: InboundMessage;
  readonly callId: string;
}

/** Ids of the buttons under a question: this, its code, `:`, and the number of the choice. */
export const CHOICE = 'ask:';

type AskPorts = LedgerPorts & { readonly outbox: Outbox };

/** Questions to people. Answers are taken where messages are accepted. */
export class AskLedger {
  readonly #ports: AskPorts;

  constructor(ports: AskPorts) {
    this.#ports = ports;
  }

  get(callId: string): AskRow | undefined {
    return this.#ports.db.all('SELECT * FROM asks WHERE call_id = ?', callId).map(toAsk)[0];
  }

  /** Writes the question down and queues it, in one transaction. One that was asked already is not asked again. */
  ask({ callId, session, turn, person, code, choices, deadline, question }: AskDraft): Promise<void> {
    const { db, clock, outbox } = this.#ports;
    return db.write(() => {
      const added = db.run(
        `INSERT OR IGNORE INTO asks
           (call_id, code, session, turn, channel, chat, thread, person, choices, state, deadline, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?)`,
        callId,
        code,
        session,
        turn,
        question.channel,
        question.chatId,
        question.threadId ?? null,
        person,
        JSON.stringify(choices),
        deadline,
        clock.now(),
        clock.now(),
      );
      if (added > 0) outbox.insert({ message: question, parts: [] });
    });
  }

  /** Nobody answered in time. */
  expire(callId: string): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        "UPDATE asks SET state = 'expired', updated_at = ? WHERE call_id = ? AND state = 'waiting'",
        clock.now(),
        callId,
      );
    });
  }
}

/**
 * Part of the transaction that accepts a message: the next words of the person who was asked, in that chat, are the
 * answer and get no turn of their own; so is the press of a button. Null: it is about something else.
 */
export function answerAsk({ db, clock }: LedgerPorts, message: InboundMessage): AskTaken | null {
  const { channel, chatId, threadId, sender, origin, untrusted, action, text, media } = message;
  if (origin !== 'user') return null;
  if (action === undefined && (untrusted || media.length > 0 || text.trim() === '' || /^[/,]/u.test(text.trim()))) {
    return null;
  }
  const row = db.get(
    `SELECT call_id, code, choices FROM asks
     WHERE channel = ? AND chat = ? AND thread IS ? AND person = ? AND state = 'waiting' AND deadline > ?
     ORDER BY created_at DESC LIMIT 1`,
    channel,
    chatId,
    threadId ?? null,
    sender.id,
    clock.now(),
  );
  if (row === undefined) return null;
  const answer = action === undefined ? numbered(row, text.trim()) : chosen(row, action.id);
  if (answer === null) return null;
  const callId = row.text('call_id');
  db.run(
    "UPDATE asks SET state = 'answered', answer = ?, updated_at = ? WHERE call_id = ?",
    answer,
    clock.now(),
    callId,
  );
  return { message, callId };
}

/** Part of a transaction of the caller's: nobody needs an answer to these any more. */
export function cancelAsks(
  { db, clock }: LedgerPorts,
  of: { readonly session: string } | { readonly turn: string },
): void {
  const [column, value] = 'session' in of ? ['session', of.session] : ['turn', of.turn];
  db.run(
    `UPDATE asks SET state = 'cancelled', updated_at = ? WHERE ${column} = ? AND state = 'waiting'`,
    clock.now(),
    value,
  );
}

/** Choices are listed with numbers, for platforms without buttons. */
function numbered(row: Row, text: string): string {
  const choices = JSON.parse(row.text('choices')) as string[];
  if (!/^\d{1,2}$/u.test(text) || choices.includes(text)) return text;
  return choices[Number(text) - 1] ?? text;
}

function chosen(row: Row, pressed: string): string | null {
  const prefix = `${CHOICE}${row.text('code')}:`;
  if (!pressed.startsWith(prefix)) return null;
  const choices = JSON.parse(row.text('choices')) as string[];
  return choices[Number(pressed.slice(prefix.length))] ?? null;
}

function toAsk(row: Row): AskRow {
  const state = row.text('state');
  return {
    callId: row.text('call_id'),
    session: row.text('session'),
    state: state === 'waiting' || state === 'answered' || state === 'expired' ? state : 'cancelled',
    answer: row.textOrNull('answer'),
    deadline: row.number('deadline'),
  };
}
