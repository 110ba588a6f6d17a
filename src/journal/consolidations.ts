import type { InboundMessage, Role } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { parseInbound, type JournalPorts } from './rows.ts';

/** Why a part of a conversation goes into memory: it grew too long, it began afresh, or the owner asked. */
export type ConsolidationReason = 'size' | 'new' | 'mem';

/**
 * `pending`: nothing of its newest part is known yet. `answered`: what is to be written is in `result`. `done`: it is
 * in memory. `dropped`: it is not, because there is nothing to archive any more.
 */
export type ConsolidationState = 'pending' | 'answered' | 'done' | 'dropped';

export interface ConsolidationDraft {
  readonly id: string;
  readonly session: string;
  readonly reason: ConsolidationReason;
  /** The weakest role of those who spoke, as far as known. */
  readonly role: Role;
  /** A chat between two. */
  readonly direct: boolean;
  /** The last entry of the chunk; for `new` the reset after it. Null: there is only the note. */
  readonly upTo: string | null;
  /** What the owner added with /mem. */
  readonly note: string | null;
}

export interface ConsolidationRow extends Omit<ConsolidationDraft, 'role'> {
  readonly role: string;
  readonly state: ConsolidationState;
  /** In a row, for the part in work. */
  readonly failures: number;
  /** JSON of whoever does the work. */
  readonly result: string | null;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

export interface ConsolidationChange {
  readonly state?: ConsolidationState;
  readonly failures?: number;
  readonly result?: string;
  readonly upTo?: string;
}

/** A session has few: what is done and not under an anchor. */
const MOST_DONE = 32;

/** What is being archived, each with all that is needed to go on after a crash. */
export class Consolidations {
  readonly #ports: JournalPorts;

  constructor(ports: JournalPorts) {
    this.#ports = ports;
  }

  /** Durable when it resolves. */
  begin(draft: ConsolidationDraft): Promise<ConsolidationRow> {
    const { db, clock } = this.#ports;
    const now = clock.now();
    return db.write(() => {
      db.run(
        `INSERT INTO archives (id, session, reason, role, direct, up_to, note, state, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, 'pending', ?, ?)`,
        draft.id,
        draft.session,
        draft.reason,
        draft.role,
        draft.direct ? 1 : 0,
        draft.upTo,
        draft.note,
        now,
        now,
      );
      return { ...draft, state: 'pending', failures: 0, result: null, createdAt: now };
    });
  }

  get(id: string): ConsolidationRow | undefined {
    const row = this.#ports.db.get('SELECT * FROM archives WHERE id = ?', id);
    return row === undefined ? undefined : toConsolidation(row);
  }

  /** Those that are not finished, of one session or of all, oldest first. */
  open(session?: string): readonly ConsolidationRow[] {
    const { db } = this.#ports;
    const sql = "SELECT * FROM archives INDEXED BY archives_open WHERE state IN ('pending', 'answered')";
    const rows =
      session === undefined ? db.all(`${sql} ORDER BY id`) : db.all(`${sql} AND session = ? ORDER BY id`, session);
    return rows.map(toConsolidation);
  }

  /** The newest that are done, newest first. */
  done(session: string): readonly ConsolidationRow[] {
    return this.#ports.db
      .all("SELECT * FROM archives WHERE state = 'done' AND session = ? ORDER BY id DESC LIMIT ?", session, MOST_DONE)
      .map(toConsolidation);
  }

  save(id: string, change: ConsolidationChange): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        `UPDATE archives SET state = coalesce(?, state), failures = coalesce(?, failures),
           result = coalesce(?, result), up_to = coalesce(?, up_to), updated_at = ? WHERE id = ?`,
        change.state ?? null,
        change.failures ?? null,
        change.result ?? null,
        change.upTo ?? null,
        clock.now(),
        id,
      );
    });
  }

  /** The newest message of a session that is still kept: where its notices go, and what kind of chat it is. */
  lastMessage(session: string): InboundMessage | undefined {
    const row = this.#ports.db.get(
      `SELECT inbound.payload FROM turns JOIN inbound ON inbound.turn_id = turns.id
       WHERE turns.session = ? AND inbound.payload IS NOT NULL ORDER BY turns.id DESC, inbound.seq DESC LIMIT 1`,
      session,
    );
    return row === undefined ? undefined : parseInbound(row.text('payload'));
  }
}

function toConsolidation(row: Row): ConsolidationRow {
  const reason = row.text('reason');
  const state = row.text('state');
  return {
    id: row.text('id'),
    session: row.text('session'),
    reason: reason === 'size' || reason === 'new' ? reason : 'mem',
    role: row.text('role'),
    direct: row.number('direct') === 1,
    upTo: row.textOrNull('up_to'),
    note: row.textOrNull('note'),
    state: state === 'answered' || state === 'done' || state === 'dropped' ? state : 'pending',
    failures: row.number('failures'),
    result: row.textOrNull('result'),
    createdAt: row.number('created_at'),
  };
}
