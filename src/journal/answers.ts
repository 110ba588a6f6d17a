import type { InboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { rememberNow } from './allowances.ts';
import { questionId, toQuestion, type QuestionStorePorts, type QuestionRow } from './questions.ts';

/** A question that waits in the chat and thread of a message. */
export interface QuestionHere extends QuestionRow {
  /**
   * Whether its reader had it before them when they wrote: `shown`, `sent` (the platform may have it; nobody knows
   * where it stands), or `unseen` (it has not left yet, or stands below the message).
   */
  readonly sight: 'shown' | 'sent' | 'unseen';
}

/** What an interpreter may look up. */
export interface OpenQuestions {
  /** Those that can be answered in the chat and thread of the message, oldest first. */
  here(): readonly QuestionHere[];
  /** Whatever became of it; one whose time is over is `expired`. */
  byCode(code: string): QuestionRow | undefined;
}

/** What a message means for the questions that wait. */
export interface Ruling {
  /** Null: nothing changes. */
  readonly decided: {
    readonly question: QuestionRow;
    readonly state: 'approved' | 'denied' | 'answered';
    readonly answer: string;
    /** The same is allowed from now on, if that was offered. @default only this once */
    readonly forGood?: boolean;
  } | null;
  /** What the person is told; empty: nothing. */
  readonly reply: string;
}

/**
 * Reads answers out of messages; null: the message is about something else. Called inside the transaction that accepts
 * the message, so that an answer is taken exactly once.
 */
export type Interpreter = (message: InboundMessage, open: OpenQuestions) => Ruling | null;

/** What is told after the commit of a message that answers a question, or tries to. */
export interface AnswerTaken {
  readonly message: InboundMessage;
  /** Of the question that it answered; null: it changed nothing. */
  readonly callId: string | null;
  readonly reply: string;
}

/**
 * Part of the transaction that accepts a message: when it answers a question, or tries to, it is settled here and gets
 * no turn. Null: it is about something else.
 */
export function takeAnswer(
  ports: QuestionStorePorts,
  interpret: Interpreter,
  message: InboundMessage,
): AnswerTaken | null {
  const { db, clock, outbox } = ports;
  const ruling = interpret(message, { here: () => openIn(ports, message), byCode: (code) => byCode(ports, code) });
  if (ruling === null) return null;
  const { decided, reply } = ruling;
  const { channel, chatId, threadId, sender } = message;
  if (decided !== null) {
    const by = `${channel}:${sender.id}`;
    const { always } = decided.question.request;
    if (decided.forGood === true && always !== undefined) rememberNow(ports, { ...always, createdBy: by });
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

function byCode({ db, clock }: QuestionStorePorts, code: string): QuestionRow | undefined {
  const [row] = db.all('SELECT * FROM questions WHERE code = ?', code.toLowerCase()).map(toQuestion);
  return row?.state === 'waiting' && row.deadline <= clock.now() ? { ...row, state: 'expired' } : row;
}

function openIn({ db, clock }: QuestionStorePorts, message: InboundMessage): readonly QuestionHere[] {
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
      return { ...row, sight: sent === undefined ? 'unseen' : sightOf(sent, message) };
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
 * Where a message stands in its chat. The platforms number what is said in a chat upwards, which no clock that is put
 * back, and no message that waited while this program was down, can confuse. Null: it has no such number.
 */
function placeIn(id: string | null): bigint | null {
  const digits = /^(?:m:)?(?<whole>\d+)(?:\.(?<part>\d+))?$/u.exec(id ?? '')?.groups;
  return digits === undefined ? null : BigInt(`${digits['whole'] ?? ''}${digits['part'] ?? ''}`);
}
