import type { Row } from '../storage/database.ts';
import { timeOfId } from '../util/ids.ts';
import type { QuestionKind, QuestionState } from './questions.ts';
import { toSum, SUMS, type UsageSum } from './usage.ts';
import { parseInbound, type JournalDatabase } from './rows.ts';

/** What became of an inbound message. Times are milliseconds since 1970. */
export interface MessageLife {
  readonly id: string;
  readonly session: string;
  readonly channel: string;
  readonly account: string;
  readonly chat: string;
  readonly externalId: string;
  /** Platform id of its sender; null: it is not kept any more. */
  readonly sender: string | null;
  /** '' when it is not kept any more. */
  readonly text: string;
  readonly origin: string;
  readonly state: 'accepted' | 'running' | 'done' | 'refused' | 'dead';
  readonly reason: string | null;
  readonly turn: string | null;
  readonly receivedAt: number;
  /** As `InboundMessage.metadata`; empty when it is not kept any more. */
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** A turn as the journal knows it. */
export interface TurnLife {
  readonly id: string;
  readonly session: string;
  readonly state: 'running' | 'stopping' | 'done' | 'dead';
  /** `answered`, `failed`, `stopped`, `silent`, `command`; null: it is running. */
  readonly outcome: string | null;
  /** Attempts that began because the process died. */
  readonly resumed: number;
  readonly startedAt: number;
  /** When it last changed; of one that is over: when it ended. */
  readonly updatedAt: number;
}

/** A message that was sent. */
export interface SentLife {
  /** As `OutboundMessage.kind`. */
  readonly kind: string;
  /** The turn that sent it, or whose command it answers; null: the program sent it by itself. */
  readonly turn: string | null;
  /** '' when it is not kept any more. */
  readonly text: string;
  /** What sent it by itself, such as `the job stretch`; null: nothing did. */
  readonly from: string | null;
  /** Untrusted text may have shaped it; true as well if its text is not kept any more. */
  readonly untrusted: boolean;
}

/** What became of a message that a turn sent. */
export interface ReplyLife {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
  readonly attempts: number;
  readonly updatedAt: number;
  /** It was sent again, because the first copy may not have arrived. */
  readonly isRepeated: boolean;
}

export interface QuestionLife {
  readonly kind: QuestionKind;
  readonly state: QuestionState;
  readonly title: string;
  /** What exactly was asked about, such as the command line; may be ''. */
  readonly detail: string;
  readonly answeredBy: string | null;
  readonly askedAt: number;
  readonly updatedAt: number;
}

export const MESSAGES = `SELECT inbound.id, inbound.session, inbound.channel, inbound.account, inbound.chat,
  inbound.external_id, inbound.payload, inbound.origin, inbound.state, inbound.reason, inbound.turn_id,
  inbound.received_at, inbound.updated_at FROM inbound`;
export const TURNS = 'SELECT id, session, state, outcome, resumed, started_at, updated_at FROM turns';
const SENT = `outbound.id, outbound.turn_id, outbound.kind, json_extract(outbound.payload, '$.text') AS text,
  json_extract(outbound.payload, '$.metadata.from') AS sender,
  json_extract(outbound.payload, '$.metadata.untrusted') AS untrusted`;
/** The newest messages among which those of a time are looked for. */
const MOST_LOOKED_AT = 1_000;

/** Reads what became of messages and turns, for people who ask. */
export class Lives {
  readonly #db: JournalDatabase['db'];

  constructor({ db }: Pick<JournalDatabase, 'db'>) {
    this.#db = db;
  }

  message(id: string): MessageLife | undefined {
    return this.#db.all(`${MESSAGES} WHERE id = ?`, id).map(toMessage)[0];
  }

  /** A message by the id that its platform gave it. */
  messageAt(
    { channel, account, chatId }: { readonly channel: string; readonly account: string; readonly chatId: string },
    externalId: string,
  ): MessageLife | undefined {
    return this.#db
      .all(
        `${MESSAGES} WHERE channel = ? AND account = ? AND chat = ? AND external_id = ?`,
        channel,
        account,
        chatId,
        externalId,
      )
      .map(toMessage)[0];
  }

  /** A message that was sent, by the id that the platform gave to it or to one of its parts. */
  sentAs({ channel, chatId }: { readonly channel: string; readonly chatId: string }, id: string): SentLife | undefined {
    const row = this.#db.get(
      `SELECT ${SENT} FROM parts CROSS JOIN outbound ON outbound.id = parts.outbound_id
       WHERE parts.platform_id = ? AND outbound.channel = ? AND outbound.chat = ? LIMIT 1`,
      id,
      channel,
      chatId,
    );
    return row && toSent(row);
  }

  /** The newest message after a time that the assistant sent to a chat by itself: of a job, the heartbeat or the like. */
  sentByItself(
    { channel, chatId }: { readonly channel: string; readonly chatId: string },
    after: number,
  ): SentLife | undefined {
    const row = this.#db.get(
      `SELECT ${SENT} FROM outbound WHERE channel = ? AND chat = ? AND payload IS NOT NULL AND created_at > ?
         AND json_extract(payload, '$.metadata.from') IS NOT NULL ORDER BY created_at DESC LIMIT 1`,
      channel,
      chatId,
      after,
    );
    return row && toSent(row);
  }

  /** The newest messages of a session that were no chat commands, newest first. */
  newest(session: string, limit: number): readonly MessageLife[] {
    return this.#db
      .all(
        `${MESSAGES} LEFT JOIN turns ON turns.id = inbound.turn_id
         WHERE inbound.session = ? AND payload IS NOT NULL AND (outcome IS NULL OR outcome <> 'command')
         ORDER BY received_at DESC LIMIT ?`,
        session,
        limit,
      )
      .map(toMessage);
  }

  /** The messages since `time` that were no chat commands, newest first, among the newest 1,000. */
  since(time: number): readonly MessageLife[] {
    return this.#db
      .all(
        `${MESSAGES} LEFT JOIN turns ON turns.id = inbound.turn_id
         WHERE seq > (SELECT coalesce(max(seq), 0) - ? FROM inbound) AND inbound.received_at >= ?
           AND (outcome IS NULL OR outcome <> 'command') ORDER BY seq DESC`,
        MOST_LOOKED_AT,
        time,
      )
      .map(toMessage);
  }

  turn(id: string): TurnLife | undefined {
    return this.#db.all(`${TURNS} WHERE id = ?`, id).map(toTurn)[0];
  }

  /** The turn of a session that is not over. */
  running(session: string): TurnLife | undefined {
    return this.#db.all(`${TURNS} WHERE session = ? AND state IN ('running', 'stopping')`, session).map(toTurn)[0];
  }

  /** The messages that a turn answers, in order of arrival. */
  messagesOf(turn: string): readonly MessageLife[] {
    return this.#db.all(`${MESSAGES} WHERE turn_id = ? ORDER BY seq`, turn).map(toMessage);
  }

  /** What a turn sent, in the order in which it was queued. */
  replies(turn: string): readonly ReplyLife[] {
    return this.#db
      .all(
        `SELECT id, kind, state, reason, attempts, updated_at,
           EXISTS (SELECT 1 FROM parts WHERE outbound_id = outbound.id AND resends > 0) AS again
         FROM outbound WHERE turn_id = ? ORDER BY seq`,
        turn,
      )
      .map((row) => ({
        id: row.text('id'),
        kind: row.text('kind'),
        state: row.text('state'),
        reason: row.textOrNull('reason'),
        attempts: row.number('attempts'),
        updatedAt: row.number('updated_at'),
        isRepeated: row.number('again') === 1,
      }));
  }

  /** The questions that a turn asked, oldest first. Their ids begin with that of the turn. */
  questions(turn: string): readonly QuestionLife[] {
    return this.#db
      .all(
        `SELECT kind, state, json_extract(request, '$.title') AS title,
           json_extract(request, '$.detail') AS detail, answered_by, created_at, updated_at FROM questions
         WHERE call_id > ? AND call_id < ? ORDER BY call_id`,
        `${turn}.`,
        `${turn}/`,
      )
      .map((row) => ({
        kind: row.text('kind') as QuestionKind,
        state: row.text('state') as QuestionState,
        title: row.textOrNull('title') ?? '',
        detail: row.textOrNull('detail') ?? '',
        answeredBy: row.textOrNull('answered_by'),
        askedAt: row.number('created_at'),
        updatedAt: row.number('updated_at'),
      }));
  }

  /** The model calls of a turn, as `usage` counts them. */
  cost({ id, session, startedAt }: TurnLife): UsageSum {
    const sql = `SELECT ${SUMS} FROM usage WHERE session = ? AND at >= ? AND turn_id = ?`;
    return toSum(this.#db.get(sql, session, startedAt, id));
  }
}

function toSent(row: Row): SentLife {
  // The ids of questions begin with the turn that asks.
  const [asking = ''] = row.text('id').split('.', 1);
  const turn = row.textOrNull('turn_id') ?? (row.text('kind') === 'approval' ? asking : null);
  const text = row.textOrNull('text') ?? '';
  const untrusted = text === '' || row.numberOrNull('untrusted') === 1;
  return { kind: row.text('kind'), turn, text, from: row.textOrNull('sender'), untrusted };
}

export function toMessage(row: Row): MessageLife {
  const payload = row.textOrNull('payload');
  const message = payload === null ? null : parseInbound(payload);
  return {
    id: row.text('id'),
    session: row.text('session'),
    channel: row.text('channel'),
    account: row.text('account'),
    chat: row.text('chat'),
    externalId: row.text('external_id'),
    sender: message?.sender.id ?? null,
    text: message?.text ?? '',
    origin: row.text('origin'),
    state: row.text('state') as MessageLife['state'],
    reason: row.textOrNull('reason'),
    turn: row.textOrNull('turn_id'),
    receivedAt: receivedAt(row),
    metadata: message?.metadata ?? {},
  };
}

/** Of a message that was missed and fetched later, `received_at` is when it was sent; its id was made when it came. */
function receivedAt(row: Row): number {
  const known = row.number('received_at');
  const made = timeOfId(row.text('id')) ?? known;
  // An id of a time before the clock was put back is later than all that happened.
  return made <= row.number('updated_at') ? Math.max(known, made) : known;
}

export function toTurn(row: Row): TurnLife {
  return {
    id: row.text('id'),
    session: row.text('session'),
    state: row.text('state') as TurnLife['state'],
    outcome: row.textOrNull('outcome'),
    resumed: row.number('resumed'),
    startedAt: row.number('started_at'),
    updatedAt: row.number('updated_at'),
  };
}
