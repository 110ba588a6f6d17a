import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import type { AllowanceDraft } from './allowances.ts';
import type { Outbox } from './outbox.ts';
import { parseInbound, placeholders, type JournalPorts } from './rows.ts';

/** `approval`: whether a call may run, asked of an owner. `ask`: the model's own question to the person of its turn. */
export type QuestionKind = 'approval' | 'ask';

export type QuestionState = 'waiting' | 'approved' | 'denied' | 'answered' | 'expired' | 'cancelled';

/** What a person is asked, as it was shown to them. */
export interface AskedRequest {
  /** The whole question where it is the model's own. */
  readonly title: string;
  readonly detail: string;
  readonly reason: string;
  /** What "always" would remember; without it only this call can be allowed. */
  readonly always?: Omit<AllowanceDraft, 'createdBy'> | undefined;
}

/** A question to a person. It outlives the process. */
export interface QuestionRow {
  readonly callId: string;
  readonly kind: QuestionKind;
  /** How people and buttons name it. Nobody can guess it. */
  readonly code: string;
  readonly session: string;
  readonly channel: string;
  readonly chat: string;
  /** The sender's id of the only one who may answer; null: any owner. */
  readonly person: string | null;
  /** It is about what this very chat, a direct one, works on: only then an answer can do without its code. */
  readonly own: boolean;
  /** Answers to choose from. */
  readonly choices: readonly string[];
  readonly state: QuestionState;
  /** What the person said, or why an owner did not allow it. */
  readonly answer: string | null;
  /** `channel:id` of who answered. */
  readonly answeredBy: string | null;
  /** Milliseconds since 1970; silence until then is a no, or no answer. */
  readonly deadline: number;
  /** Of all that a yes covers; empty for the model's own question. */
  readonly hash: string;
  readonly request: AskedRequest;
}

export interface QuestionDraft extends Omit<QuestionRow, 'channel' | 'chat' | 'state' | 'answer' | 'answeredBy'> {
  readonly turn: string | null;
  /** Its id is `questionId(callId)`. */
  readonly message: OutboundMessage;
}

export type QuestionStorePorts = JournalPorts & { readonly outbox: Outbox };

/** The id of the message that asks. */
export function questionId(callId: string): string {
  return `${callId}:question`;
}

/** Questions to people. Answers are taken where messages are accepted (answers.ts). */
export class QuestionStore {
  readonly #ports: QuestionStorePorts;

  constructor(ports: QuestionStorePorts) {
    this.#ports = ports;
  }

  get(callId: string): QuestionRow | undefined {
    return this.#ports.db.all('SELECT * FROM questions WHERE call_id = ?', callId).map(toQuestion)[0];
  }

  /** Questions of a kind that can still be answered, oldest first. */
  waiting(kind: QuestionKind): readonly QuestionRow[] {
    const { db, clock } = this.#ports;
    return db
      .all(
        "SELECT * FROM questions WHERE state = 'waiting' AND kind = ? AND deadline > ? ORDER BY created_at",
        kind,
        clock.now(),
      )
      .map(toQuestion);
  }

  /** Writes the question down and queues it, in one transaction. One that was asked already is not asked again. */
  ask({ message, ...draft }: QuestionDraft): Promise<void> {
    const { db, clock, outbox } = this.#ports;
    return db.write(() => {
      const added = db.run(
        `INSERT OR IGNORE INTO questions
           (call_id, kind, code, session, turn, channel, chat, thread, person, own, choices, hash, request,
            state, deadline, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'waiting', ?, ?, ?)`,
        draft.callId,
        draft.kind,
        draft.code,
        draft.session,
        draft.turn,
        message.channel,
        message.chatId,
        message.threadId ?? null,
        draft.person,
        draft.own ? 1 : 0,
        JSON.stringify(draft.choices),
        draft.hash,
        JSON.stringify(draft.request),
        draft.deadline,
        clock.now(),
        clock.now(),
      );
      if (added > 0) outbox.insert({ message, parts: [] });
    });
  }

  /** Ends a question that waits without an answer. */
  end(callId: string, state: 'expired' | 'cancelled'): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        "UPDATE questions SET state = ?, updated_at = ? WHERE call_id = ? AND state = 'waiting'",
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

/** Part of a transaction of the caller's: nobody needs an answer to these any more. */
export function cancelQuestions(
  { db, clock }: JournalPorts,
  of: { readonly session: string } | { readonly turn: string },
): void {
  const [column, value] = 'session' in of ? ['session', of.session] : ['turn', of.turn];
  db.run(
    `UPDATE questions SET state = 'cancelled', updated_at = ? WHERE ${column} = ? AND state = 'waiting'`,
    clock.now(),
    value,
  );
}

export function toQuestion(row: Row): QuestionRow {
  return {
    callId: row.text('call_id'),
    kind: row.text('kind') === 'ask' ? 'ask' : 'approval',
    code: row.text('code'),
    session: row.text('session'),
    channel: row.text('channel'),
    chat: row.text('chat'),
    person: row.textOrNull('person'),
    own: row.number('own') === 1,
    choices: JSON.parse(row.text('choices')) as string[],
    state: stateOf(row.text('state')),
    answer: row.textOrNull('answer'),
    answeredBy: row.textOrNull('answered_by'),
    deadline: row.number('deadline'),
    hash: row.text('hash'),
    request: JSON.parse(row.text('request')) as AskedRequest,
  };
}

const STATES: readonly QuestionState[] = ['waiting', 'approved', 'answered', 'expired', 'cancelled'];

/** Unknown words are a no. */
function stateOf(state: string): QuestionState {
  return STATES.find((known) => known === state) ?? 'denied';
}
