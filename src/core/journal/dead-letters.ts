import type { InboxItem, OutboxItem } from '../bus/waiting.ts';
import type { Row } from '../storage/database.ts';
import { oneLine } from '../util/text.ts';
import { INBOUND, OPEN_OUTBOUND, OUTBOUND, parseInbound, parseOutbound, JournalStore } from './rows.ts';

const SHOWN = 80;
const MOST = 200;
const MOST_COUNTED = 10_000;
/** A message that is sent again expires after this time. */
const AGAIN_MS = 24 * 3_600_000;
const DROPPED = 'dropped by the owner';

/** Lists the messages that are not delivered or not answered, and lets a person retry or drop them. */
export class DeadLetters extends JournalStore {
  /** Outbound messages that wait or did not arrive, without those that were cancelled on purpose; newest first. */
  outbox(): readonly OutboxItem[] {
    return this.journal.db
      .all(
        `SELECT id, channel, chat, kind, state, reason, attempts, created_at, payload FROM outbound
         WHERE state NOT IN ('delivered', 'streaming') AND payload IS NOT NULL ORDER BY seq DESC LIMIT ?`,
        MOST,
      )
      .map((row) => ({
        ...common(row),
        kind: row.text('kind'),
        attempts: row.number('attempts'),
        text: oneLine(parseOutbound(row.text('payload')).text, SHOWN),
      }));
  }

  /**
   * How many outbound messages of each channel wait, and how many did not arrive and were not dropped by a person. The
   * newest 10,000 count.
   */
  undelivered(): ReadonlyMap<string, { readonly waiting: number; readonly dead: number }> {
    const rows = this.journal.db.all(
      `SELECT channel, sum(${OPEN_OUTBOUND}) AS waiting,
         sum(state IN ('dead', 'expired') AND reason IS NOT ?) AS dead
       FROM (SELECT channel, state, reason FROM outbound
         WHERE state NOT IN ('delivered', 'streaming') AND payload IS NOT NULL ORDER BY seq DESC LIMIT ?)
       GROUP BY channel`,
      DROPPED,
      MOST_COUNTED,
    );
    return new Map(
      rows.map((row) => [row.text('channel'), { waiting: row.number('waiting'), dead: row.number('dead') }]),
    );
  }

  /** Queues a message again, from its first part that did not arrive. False: there is no such message, or it arrived. */
  retry(id: string): Promise<boolean> {
    const { db, clock } = this.journal;
    return db.write(() => {
      const now = clock.now();
      const changed = db.run(
        // A new `seq` puts it at the end of the queue, because its reader does not look back.
        `UPDATE outbound SET state = 'pending', reason = NULL, next_at = 0, owed = 0, told_by = NULL, doubt = NULL, expires_at = ?, updated_at = ?,
           seq = (SELECT max(seq) + 1 FROM outbound)
         WHERE id = ? AND state IN ('pending', 'uncertain', 'dead', 'expired') AND payload IS NOT NULL`,
        now + AGAIN_MS,
        now,
        id,
      );
      // A repetition that a person asked for is not marked as a possible duplicate.
      if (changed === 0) return false;
      db.run("UPDATE parts SET state = 'pending', resends = 0 WHERE outbound_id = ? AND state <> 'delivered'", id);
      db.queued(OUTBOUND, db.get('SELECT seq FROM outbound WHERE id = ?', id)?.number('seq') ?? 0);
      return true;
    });
  }

  /** Ends an outbound message without sending it. False: there is no such message, or it has ended. */
  drop(id: string): Promise<boolean> {
    const { db, clock } = this.journal;
    return db.write(
      () =>
        db.run(
          `UPDATE outbound SET state = 'dead', reason = ?, updated_at = ?
           WHERE id = ? AND state IN ('pending', 'sending', 'uncertain')`,
          DROPPED,
          clock.now(),
          id,
        ) > 0,
    );
  }

  /** Inbound messages that wait, are being answered, were refused or were given up; newest first. */
  inbox(): readonly InboxItem[] {
    return this.journal.db
      .all(
        `SELECT id, channel, chat, state, reason, received_at AS created_at, payload FROM inbound
         WHERE state <> 'done' AND payload IS NOT NULL ORDER BY seq DESC LIMIT ?`,
        MOST,
      )
      .map((row) => {
        const { sender, text } = parseInbound(row.text('payload'));
        return { ...common(row), who: sender.name ?? sender.id, text: oneLine(text, SHOWN) };
      });
  }

  /** Queues a message again that was given up or refused. False: there is no such message. */
  readmit(id: string): Promise<boolean> {
    const { db, clock } = this.journal;
    return db.write(() => {
      const changed = db.run(
        `UPDATE inbound SET state = 'accepted', reason = NULL, turn_id = NULL, updated_at = ?,
           seq = (SELECT max(seq) + 1 FROM inbound)
         WHERE id = ? AND state IN ('dead', 'refused') AND payload IS NOT NULL`,
        clock.now(),
        id,
      );
      if (changed === 0) return false;
      db.queued(INBOUND, db.get('SELECT seq FROM inbound WHERE id = ?', id)?.number('seq') ?? 0);
      return true;
    });
  }

  /** Refuses a waiting message, so that it gets no turn. False: there is no such message. */
  refuse(id: string): Promise<boolean> {
    const { db, clock } = this.journal;
    return db.write(
      () =>
        db.run(
          `UPDATE inbound SET state = 'refused', reason = ?, updated_at = ?
           WHERE id = ? AND state = 'accepted'`,
          DROPPED,
          clock.now(),
          id,
        ) > 0,
    );
  }
}

function common(row: Row): Pick<OutboxItem, 'id' | 'channel' | 'chat' | 'state' | 'reason' | 'createdAt'> {
  return {
    id: row.text('id'),
    channel: row.text('channel'),
    chat: row.text('chat'),
    state: row.text('state'),
    reason: row.textOrNull('reason'),
    createdAt: row.number('created_at'),
  };
}
