import type { InboundMessage } from '../bus/messages.ts';
import type { Outbox } from './outbox.ts';
import type { JournalDatabase } from './rows.ts';
import type { Row } from '../storage/database.ts';
import { rememberNow } from './allowances.ts';
import { byCode, questionId, toQuestion, type QuestionRow } from './questions.ts';

/** A question that waits in the chat and thread of a message. */
export interface QuestionHere extends QuestionRow {
  /**
   * Whether the person could see the question when they wrote the message. `shown`: it is above the message. `sent`: the
   * platform may have it, but its place is unknown. `unseen`: it is not sent yet, or is below the message.
   */
  readonly sight: 'shown' | 'sent' | 'unseen';
  /** The assistant has said nothing in the chat since. */
  readonly isNewest: boolean;
}

/** The questions that an interpreter can look up. */
export interface OpenQuestions {
  /** The questions that can be answered in the chat and thread of the message, oldest first. */
  here(): readonly QuestionHere[];
  /** The question with this code, in any state; after its deadline the state is `expired`. Undefined: none. */
  byCode(code: string): QuestionRow | undefined;
}

/** What a message decides about a question. */
export interface Ruling {
  /** Null: no question changes. */
  readonly decided: {
    readonly question: QuestionRow;
    readonly state: 'approved' | 'denied' | 'answered';
    readonly answer: string;
    /** Also allow the same from now on, if the question offered that. @default false */
    readonly forGood?: boolean;
  } | null;
  /** The reply to the person; '': none. */
  readonly reply: string;
}

/**
 * Reads a message as an answer to a question; null: it is no answer. Called inside the transaction that accepts the message,
 * so that an answer counts exactly once.
 */
export type Interpreter = (message: InboundMessage, open: OpenQuestions) => Ruling | null;

/** What listeners get after the commit of a message that answered a question, or tried to. */
export interface AnswerTaken {
  readonly message: InboundMessage;
  /** Call id of the question that it answered; null: it changed nothing. */
  readonly callId: string | null;
  readonly reply: string;
}

/**
 * Settles the question that a message answers, within the transaction that accepts the message; such a message gets no turn.
 * Null: the message is no answer.
 */
export function takeAnswer(
  journal: JournalDatabase,
  { outbox, interpret }: { readonly outbox: Outbox; readonly interpret: Interpreter },
  message: InboundMessage,
): AnswerTaken | null {
  const { db, clock } = journal;
  const ruling = interpret(message, { here: () => openIn(journal, message), byCode: (code) => byCode(journal, code) });
  if (ruling === null) return null;
  const { decided, reply } = ruling;
  const { channel, chatId, threadId, sender } = message;
  if (decided !== null) {
    const by = `${channel}:${sender.id}`;
    const { always } = decided.question.request;
    if (decided.forGood === true && always !== undefined) rememberNow(journal, { ...always, createdBy: by });
    db.run(
      "UPDATE questions SET state = ?, answer = ?, answered_by = ?, updated_at = ? WHERE call_id = ? AND state = 'waiting'",
      decided.state,
      decided.answer,
      by,
      clock.now(),
      decided.question.callId,
    );
  }
  if (reply !== '') {
    outbox.insert({
      message: {
        id: `${message.id}:0`,
        channel,
        chatId,
        ...(threadId === undefined ? {} : { threadId }),
        kind: 'notice',
        text: reply,
        turnId: message.id,
        media: [],
        expiresAt: clock.now() + 3_600_000,
        metadata: {},
      },
      parts: [],
    });
  }
  return { message, callId: decided?.question.callId ?? null, reply };
}

function openIn({ db, clock }: JournalDatabase, message: InboundMessage): readonly QuestionHere[] {
  return db
    .all(
      `SELECT * FROM questions
       WHERE channel = ? AND chat = ? AND thread IS ? AND state = 'waiting' AND deadline > ?
       ORDER BY created_at`,
      message.channel,
      message.chatId,
      message.threadId ?? null,
      clock.now(),
    )
    .map(toQuestion)
    .map((row) => {
      const sent = db.get(
        `SELECT state, updated_at,
           (SELECT platform_id FROM parts WHERE outbound_id = outbound.id ORDER BY n DESC LIMIT 1) AS platform_id
         FROM outbound WHERE id = ?`,
        questionId(row.callId),
      );
      const later = db.get(
        `SELECT 1 FROM outbound WHERE channel = ? AND chat = ? AND payload IS NOT NULL AND kind IN ('answer', 'part')
           AND seq > (SELECT seq FROM outbound WHERE id = ?) LIMIT 1`,
        message.channel,
        message.chatId,
        questionId(row.callId),
      );
      const sight = sent === undefined ? 'unseen' : sightOf(sent, message);
      return { ...row, sight, isNewest: later === undefined };
    });
}

function sightOf(sent: Row, { externalId, receivedAt }: InboundMessage): QuestionHere['sight'] {
  const state = sent.text('state');
  if (state === 'sending' || state === 'uncertain') return 'sent';
  if (state !== 'delivered') return 'unseen';
  const [place, written] = [placeIn(sent.textOrNull('platform_id')), placeIn(externalId)];
  const isAbove = place === null || written === null ? sent.number('updated_at') <= receivedAt : place < written;
  return isAbove ? 'shown' : 'unseen';
}

/**
 * The place of a message in its chat, from its platform id, which grows with each message. Unlike times, it stays right when
 * a clock was set back or a message waited while this program was down. Null: the id is no such number.
 */
function placeIn(id: string | null): bigint | null {
  const digits = /^(?:m:)?(?<whole>\d+)(?:\.(?<part>\d+))?$/u.exec(id ?? '')?.groups;
  return digits === undefined ? null : BigInt(`${digits['whole'] ?? ''}${digits['part'] ?? ''}`);
}
