import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import { FROM, parseChat, sessionKeyOf } from '../bus/messages.ts';
import { SPEECH_CHANNEL } from '../bus/speech.ts';
import type { Row } from '../storage/database.ts';
import { INBOUND, OUTBOUND, parseInbound, parseOutbound, JournalStore } from './rows.ts';

/** A place in the order of the inbound and of the outbound messages. */
export interface FeedCursor {
  readonly inbound: number;
  readonly outbound: number;
}

/** A durable message, to or from people. */
export type FeedRow = {
  /** Where people read it: the session that a received message belongs to, or that of the chat it is sent to. */
  readonly session: string;
  readonly state: string;
  readonly turn: string | null;
  /** When it was accepted or queued, ms since 1970. */
  readonly at: number;
} & (
  | { readonly direction: 'in'; readonly message: InboundMessage }
  | { readonly direction: 'out'; readonly message: OutboundMessage }
);

/** Reads what was written to the inbox and the outbox after a place, for those who watch. */
export class JournalFeed extends JournalStore {
  /** The place after everything that is durable. */
  newest(): FeedCursor {
    const { db } = this.journal;
    const last = (sql: string, queue: string): number => db.get(sql, db.durableUpTo(queue))?.number('seq') ?? 0;
    return {
      inbound: last('SELECT seq FROM inbound WHERE seq <= ? ORDER BY seq DESC LIMIT 1', INBOUND),
      outbound: last('SELECT seq FROM outbound WHERE seq <= ? ORDER BY seq DESC LIMIT 1', OUTBOUND),
    };
  }

  /** At most `limit` messages of each direction after a place, the older first, and the place after them. */
  after(cursor: FeedCursor, limit: number): { readonly rows: readonly FeedRow[]; readonly cursor: FeedCursor } {
    const { db } = this.journal;
    let { inbound, outbound } = cursor;
    const received = db
      .all(
        `SELECT seq, session, state, turn_id, payload, received_at AS at FROM inbound
         WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
        inbound,
        db.durableUpTo(INBOUND),
        limit,
      )
      .flatMap((row): FeedRow[] => {
        inbound = row.number('seq');
        return row.textOrNull('payload') === null ? [] : [toReceived(row)];
      });
    const sent = db
      .all(
        `SELECT seq, channel, turns.session AS session, outbound.state AS state, turn_id, payload, created_at AS at
         FROM outbound LEFT JOIN turns ON turns.id = outbound.turn_id
         WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
        outbound,
        db.durableUpTo(OUTBOUND),
        limit,
      )
      .flatMap((row): FeedRow[] => {
        outbound = row.number('seq');
        // What waits to be spoken is no message to people; the voice message that becomes of it is.
        return row.textOrNull('payload') === null || row.text('channel') === SPEECH_CHANNEL ? [] : [toSent(row)];
      });
    return { rows: [...received, ...sent].toSorted((a, b) => a.at - b.at), cursor: { inbound, outbound } };
  }

  /**
   * What people read in a session beside its tape, from one time to another, the older first: notices, files, commands
   * and their replies, messages that no turn has answered. At most the newest `limit` of each direction.
   */
  besideTape(session: string, { from, to }: { readonly from: number; readonly to: number }, limit: number): FeedRow[] {
    const { db } = this.journal;
    const received = db
      .all(
        `SELECT inbound.session AS session, inbound.state AS state, turn_id, payload, received_at AS at
         FROM inbound INDEXED BY inbound_said LEFT JOIN turns ON turns.id = inbound.turn_id
         WHERE inbound.session = ? AND payload IS NOT NULL AND received_at BETWEEN ? AND ? AND seq <= ?
         AND (inbound.state <> 'done' OR turns.id IS NULL OR turns.outcome = 'command')
         ORDER BY received_at DESC, inbound.seq DESC LIMIT ?`,
        session,
        from,
        to,
        db.durableUpTo(INBOUND),
        limit,
      )
      .map(toReceived);
    const chat = parseChat(session);
    const sent =
      chat === undefined
        ? []
        : db.all(
            `SELECT turns.session AS session, outbound.state AS state, turn_id, payload, created_at AS at
             FROM outbound INDEXED BY outbound_said LEFT JOIN turns ON turns.id = outbound.turn_id
             WHERE channel = ? AND chat = ? AND payload IS NOT NULL AND created_at BETWEEN ? AND ? AND seq <= ?
             AND NOT (kind = 'answer' AND turns.outcome IS 'answered' AND turns.session IS ?
                      AND json_array_length(payload, '$.media') = 0)
             ORDER BY created_at DESC, seq DESC LIMIT ?`,
            chat.channel,
            chat.chatId,
            from,
            to,
            db.durableUpTo(OUTBOUND),
            session,
            limit,
          );
    const rows = [...received, ...sent.map(toSent).filter((row) => row.session === session)];
    // What came at the same time stays in its order.
    return rows.toReversed().toSorted((a, b) => a.at - b.at);
  }

  /** Removes what the finished messages of a session say; that they were there stays known. */
  forget(session: string): Promise<void> {
    const { db } = this.journal;
    const chat = parseChat(session);
    return db.write(() => {
      db.run(
        `UPDATE inbound SET payload = NULL
         WHERE session = ? AND payload IS NOT NULL AND state IN ('done', 'refused', 'dead')`,
        session,
      );
      db.run('DELETE FROM reactions WHERE session = ?', session);
      if (chat === undefined) return;
      const sent = `SELECT seq, id, payload FROM outbound INDEXED BY outbound_said
        WHERE channel = ? AND chat = ? AND payload IS NOT NULL AND state IN ('delivered', 'dead', 'expired') AND owed = 0`;
      const texts = db
        .all(sent, chat.channel, chat.chatId)
        .filter((row) => sessionKeyOf(parseOutbound(row.text('payload'))) === session);
      // What was to be spoken there names the session as its chat.
      for (const row of [...texts, ...db.all(sent, SPEECH_CHANNEL, session)]) {
        db.run("UPDATE parts SET text = '' WHERE outbound_id = ?", row.text('id'));
        db.run('UPDATE outbound SET payload = NULL WHERE seq = ?', row.number('seq'));
      }
    });
  }

  /** A sent message by its id; undefined: there is none, or its text was removed. */
  sent(id: string): OutboundMessage | undefined {
    const row = this.journal.db.get('SELECT payload FROM outbound WHERE id = ? AND payload IS NOT NULL', id);
    return row === undefined ? undefined : parseOutbound(row.text('payload'));
  }

  /** Calls back when `after` may have more. */
  onQueued(listener: () => void): Disposable {
    const { db } = this.journal;
    const heard = [db.onQueued(INBOUND, listener), db.onQueued(OUTBOUND, listener)];
    return { [Symbol.dispose]: () => heard.forEach((one) => one[Symbol.dispose]()) };
  }
}

function toReceived(row: Row): FeedRow {
  return { ...factsOf(row), session: row.text('session'), direction: 'in', message: parseInbound(row.text('payload')) };
}

function toSent(row: Row): FeedRow {
  const message = parseOutbound(row.text('payload'));
  // What another session sends here, such as that of a job, is read here.
  const isFromElsewhere = message.metadata[FROM] !== undefined;
  const session = (isFromElsewhere ? null : row.textOrNull('session')) ?? sessionKeyOf(message);
  return { ...factsOf(row), session, direction: 'out', message };
}

function factsOf(row: Row): Pick<FeedRow, 'state' | 'turn' | 'at'> {
  return { state: row.text('state'), turn: row.textOrNull('turn_id'), at: row.number('at') };
}
