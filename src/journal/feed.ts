import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import { sessionKeyOf } from '../bus/messages.ts';
import { INBOUND, OUTBOUND, parseInbound, parseOutbound, type JournalPorts } from './rows.ts';

/** A place in the order of the inbound and of the outbound messages. */
export interface FeedCursor {
  readonly inbound: number;
  readonly outbound: number;
}

/** A durable message, to or from people. */
export type FeedRow = {
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
export class JournalFeed {
  readonly #ports: JournalPorts;

  constructor(ports: JournalPorts) {
    this.#ports = ports;
  }

  /** The place after everything that is durable. */
  newest(): FeedCursor {
    const { db } = this.#ports;
    const last = (sql: string, queue: string): number => db.get(sql, db.durableUpTo(queue))?.number('seq') ?? 0;
    return {
      inbound: last('SELECT seq FROM inbound WHERE seq <= ? ORDER BY seq DESC LIMIT 1', INBOUND),
      outbound: last('SELECT seq FROM outbound WHERE seq <= ? ORDER BY seq DESC LIMIT 1', OUTBOUND),
    };
  }

  /** At most `limit` messages of each direction after a place, the older first, and the place after them. */
  after(cursor: FeedCursor, limit: number): { readonly rows: readonly FeedRow[]; readonly cursor: FeedCursor } {
    const { db } = this.#ports;
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
        const payload = row.textOrNull('payload');
        const facts = { state: row.text('state'), turn: row.textOrNull('turn_id'), at: row.number('at') };
        if (payload === null) return [];
        return [{ ...facts, session: row.text('session'), direction: 'in', message: parseInbound(payload) }];
      });
    const sent = db
      .all(
        `SELECT seq, turns.session AS session, outbound.state AS state, turn_id, payload, created_at AS at
         FROM outbound LEFT JOIN turns ON turns.id = outbound.turn_id
         WHERE seq > ? AND seq <= ? ORDER BY seq LIMIT ?`,
        outbound,
        db.durableUpTo(OUTBOUND),
        limit,
      )
      .flatMap((row): FeedRow[] => {
        outbound = row.number('seq');
        const payload = row.textOrNull('payload');
        if (payload === null) return [];
        const message = parseOutbound(payload);
        const facts = { state: row.text('state'), turn: row.textOrNull('turn_id'), at: row.number('at') };
        return [{ ...facts, session: row.textOrNull('session') ?? sessionKeyOf(message), direction: 'out', message }];
      });
    return { rows: [...received, ...sent].toSorted((a, b) => a.at - b.at), cursor: { inbound, outbound } };
  }

  /** A sent message by its id; undefined: there is none, or its text was removed. */
  sent(id: string): OutboundMessage | undefined {
    const row = this.#ports.db.get('SELECT payload FROM outbound WHERE id = ? AND payload IS NOT NULL', id);
    return row === undefined ? undefined : parseOutbound(row.text('payload'));
  }

  /** Calls back when `after` may have more. */
  onQueued(listener: () => void): Disposable {
    const { db } = this.#ports;
    const heard = [db.onQueued(INBOUND, listener), db.onQueued(OUTBOUND, listener)];
    return { [Symbol.dispose]: () => heard.forEach((one) => one[Symbol.dispose]()) };
  }
}
