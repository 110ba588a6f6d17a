import type { Row } from '../storage/database.ts';
import { oneLine } from '../util/text.ts';
import { INBOUND, OUTBOUND, parseInbound, parseOutbound, type JournalPorts } from './rows.ts';

/** A message on its way out, or one that did not get there. */
export interface OutboxItem {
  readonly id: string;
  readonly channel: string;
  readonly chat: string;
  readonly kind: string;
  readonly state: string;
  /** Why it is not there; null: nothing went wrong. */
  readonly reason: string | null;
  readonly attempts: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Its beginning, on one line. */
  readonly text: string;
}

/** A message that came in and was not answered, or not yet. */
export interface InboxItem extends Omit<OutboxItem, 'kind' | 'attempts'> {
  readonly who: string;
}

const SHOWN = 80;
const MOST = 200;
/** A message that is sent again may take this long. */
const AGAIN_MS = 24 * 3_600_000;

/** Looks at what is on its way, and lets a person decide about what got stuck. */
export class DeadLetters {
  readonly #ports: JournalPorts;

  constructor(ports: JournalPorts) {
    this.#ports = ports;
  }

  /** What is not delivered and was not given up by plan, newest first. */
  outbox(): readonly OutboxItem[] {
    return this.#ports.db
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

  /** Sends it again from its first part that did not arrive. False: there is no such message, or it arrived. */
  retry(id: string): Promise<boolean> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      const now = clock.now();
      const changed = db.run(
        // At the end of the queue: what was read of it before is not read again.
        `UPDATE outbound SET state = 'pending', reason = NULL, next_at = 0, owed = 0, told_by = NULL, doubt = NULL, expires_at = ?, updated_at = ?,
           seq = (SELECT max(seq) + 1 FROM outbound)
         WHERE id = ? AND state IN ('pending', 'uncertain', 'dead', 'expired') AND payload IS NOT NULL`,
        now + AGAIN_MS,
        now,
        id,
      );
      // What a person asks for again is no doubtful repetition.
      if (changed === 0) return false;
      db.run("UPDATE parts SET state = 'pending', resends = 0 WHERE outbound_id = ? AND state <> 'delivered'", id);
      db.queued(OUTBOUND, db.get('SELECT seq FROM outbound WHERE id = ?', id)?.number('seq') ?? 0);
      return true;
    });
  }

  /** It is not sent any more. False: there is no such message, or it is done with. */
  drop(id: string): Promise<boolean> {
    const { db, clock } = this.#ports;
    return db.write(
      () =>
        db.run(
          `UPDATE outbound SET state = 'dead', reason = 'dropped by the owner', updated_at = ?
           WHERE id = ? AND state IN ('pending', 'sending', 'uncertain')`,
          clock.now(),
          id,
        ) > 0,
    );
  }

  /** What waits, is being answered, was refused or given up, newest first. */
  inbox(): readonly InboxItem[] {
    return this.#ports.db
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

  /** A message that was given up or refused gets a turn after all. False: there is no such message. */
  readmit(id: string): Promise<boolean> {
    const { db, clock } = this.#ports;
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

  /** A message that waits gets no turn. False: there is no such message. */
  refuse(id: string): Promise<boolean> {
    const { db, clock } = this.#ports;
    return db.write(
      () =>
        db.run(
          `UPDATE inbound SET state = 'refused', reason = 'dropped by the owner', updated_at = ?
           WHERE id = ? AND state = 'accepted'`,
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
