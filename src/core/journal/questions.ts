import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import type { AllowanceDraft } from './allowances.ts';
import type { Outbox } from './outbox.ts';
import { parseInbound, placeholders, type JournalDatabase } from './rows.ts';

/** `approval`: whether a call may run, asked of an owner. `ask`: the model's own question to the person of its turn. */
export type QuestionKind = 'approval' | 'ask';

export type QuestionState = 'waiting' | 'approved' | 'denied' | 'answered' | 'expired' | 'cancelled';

/** The text of a question as people see it. */
export interface AskedRequest {
  /** For a question of the model (`ask`) its whole text. */
  readonly title: string;
  readonly detail: string;
  readonly reason: string;
  /** What the answer "always" allows from now on. @default "always" is not offered */
  readonly always?: Omit<AllowanceDraft, 'createdBy'>;
}

/** A question to a person, which survives a restart. */
export interface QuestionRow {
  readonly callId: string;
  readonly kind: QuestionKind;
  /** The random code by which people and buttons name it. */
  readonly code: string;
  readonly session: string;
  readonly channel: string;
  readonly chat: string;
  /** Platform id of the only person who may answer; null: any owner. */
  readonly person: string | null;
  /** It belongs to a turn of the same direct chat, so an answer needs no code. */
  readonly own: boolean;
  /** Answers to choose from. */
  readonly choices: readonly string[];
  readonly state: QuestionState;
  /** The person's answer, or the owner's reason for a no; null: none yet. */
  readonly answer: string | null;
  /** `channel:id` of who answered. */
  readonly answeredBy: string | null;
  /** Milliseconds since 1970. Without an answer until then, an approval is refused and an `ask` is not answered. */
  readonly deadline: number;
  /** Hash of everything that a yes allows; '' for an `ask`. */
  readonly hash: string;
  readonly request: AskedRequest;
}

export interface QuestionDraft extends Omit<QuestionRow, 'channel' | 'chat' | 'state' | 'answer' | 'answeredBy'> {
  readonly turn: string | null;
  /** Its id is `questionId(callId)`. */
  readonly message: OutboundMessage;
}

/** The id of the message that asks. */
export function questionId(callId: string): string {
  return `${callId}:question`;
}

/** The questions to people. Answers are read when messages are accepted (`answers.ts`). */
export class QuestionStore {
  readonly #journal: JournalDatabase;
  readonly #outbox: Outbox;

  constructor(journal: JournalDatabase, outbox: Outbox) {
    this.#journal = journal;
    this.#outbox = outbox;
  }

  get(callId: string): QuestionRow | undefined {
    return this.#journal.db.all('SELECT * FROM questions WHERE call_id = ?', callId).map(toQuestion)[0];
  }

  /** Questions of a kind that can still be answered, oldest first. */
  waiting(kind: QuestionKind): readonly QuestionRow[] {
    const { db, clock } = this.#journal;
    return db
      .all(
        "SELECT * FROM questions WHERE state = 'waiting' AND kind = ? AND deadline > ? ORDER BY created_at",
        kind,
        clock.now(),
      )
      .map(toQuestion);
  }

  /** The question with this code, in any state. */
  byCode(code: string): QuestionRow | undefined {
    return byCode(this.#journal, code);
  }

  /** Stores a question and queues its message, in one transaction. One with the same call id is not asked again. */
  ask({ message, ...draft }: QuestionDraft): Promise<void> {
    const { db, clock } = this.#journal;
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
      if (added > 0) this.#outbox.insert({ message, parts: [] });
    });
  }

  /** Of both kinds, also those whose deadline is over. */
  countWaiting(): number {
    return this.#journal.db.get("SELECT count(*) AS n FROM questions WHERE state = 'waiting'")?.number('n') ?? 0;
  }

  /** Ends a waiting question without an answer. */
  end(callId: string, state: 'expired' | 'cancelled'): Promise<void> {
    const { db, clock } = this.#journal;
    return db.write(() => {
      db.run(
        "UPDATE questions SET state = ?, updated_at = ? WHERE call_id = ? AND state = 'waiting'",
        state,
        clock.now(),
        callId,
      );
    });
  }

  /**
   * An owner's newest message in a direct chat, without its content; `among`: only these channels. The page counts only if
   * there is no chat on a platform, which reaches people who do not look. @default all but the terminal
   */
  ownersChat(among?: readonly string[]): InboundMessage | undefined {
    const where = among === undefined ? "channel <> 'terminal'" : `channel IN (${placeholders(among)})`;
    return this.#journal.db
      .all(
        `SELECT payload FROM owner_chats WHERE direct = 1 AND ${where} ORDER BY channel = 'web', seq DESC LIMIT 1`,
        ...(among ?? []),
      )
      .map((row) => parseInbound(row.text('payload')))[0];
  }

  /** An owner's newest message in a chat, without its content; undefined: none. */
  ownersWords(channel: string, chatId: string): InboundMessage | undefined {
    return this.#journal.db
      .all('SELECT payload FROM owner_chats WHERE channel = ? AND chat = ?', channel, chatId)
      .map((row) => parseInbound(row.text('payload')))[0];
  }

  /** Whether an owner ever wrote in the chat of a message. */
  hasOwner({ channel, chatId }: InboundMessage): boolean {
    const found = this.#journal.db.get('SELECT 1 FROM owner_chats WHERE channel = ? AND chat = ?', channel, chatId);
    return found !== undefined;
  }
}

/** Cancels, within the caller's transaction, the waiting questions of a session or turn. */
export function cancelQuestions(
  { db, clock }: JournalDatabase,
  of: { readonly session: string } | { readonly turn: string },
): void {
  const [column, value] = 'session' in of ? ['session', of.session] : ['turn', of.turn];
  db.run(
    `UPDATE questions SET state = 'cancelled', updated_at = ? WHERE ${column} = ? AND state = 'waiting'`,
    clock.now(),
    value,
  );
}

/** The question with this code; after its deadline its state is `expired`. */
export function byCode({ db, clock }: JournalDatabase, code: string): QuestionRow | undefined {
  const [row] = db.all('SELECT * FROM questions WHERE code = ?', code.toLowerCase()).map(toQuestion);
  return row?.state === 'waiting' && row.deadline <= clock.now() ? { ...row, state: 'expired' } : row;
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

/** An unknown state counts as `denied`. */
function stateOf(state: string): QuestionState {
  return STATES.find((known) => known === state) ?? 'denied';
}
