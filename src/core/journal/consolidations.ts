import type { InboundMessage, Role } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import { parseInbound, JournalStore } from './rows.ts';

/** Why a part of a conversation goes into memory: it became too long, a person sent /new, or the owner sent /mem. */
export type ConsolidationReason = 'size' | 'new' | 'mem';

/**
 * `pending`: the model has not answered yet. `answered`: `result` holds what is to be written. `done`: it is written into
 * memory. `dropped`: ended without writing, because there was nothing left to consolidate.
 */
export type ConsolidationState = 'pending' | 'answered' | 'done' | 'dropped';

export interface ConsolidationDraft {
  readonly id: string;
  readonly session: string;
  readonly reason: ConsolidationReason;
  /** The weakest role among the people who wrote in this part. */
  readonly role: Role;
  /** True for a direct chat, false for a group. */
  readonly direct: boolean;
  /** Id of the last tape entry of the part; for `new`, of the reset entry after it. Null: there is only a note. */
  readonly upTo: string | null;
  /** Text that the owner wrote after /mem; null: none. */
  readonly note: string | null;
}

export interface ConsolidationRow extends Omit<ConsolidationDraft, 'role'> {
  readonly role: string;
  readonly state: ConsolidationState;
  /** Failures in a row of the present step. */
  readonly failures: number;
  /** JSON that agent/consolidation writes and reads; null until the model has answered. */
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

/** Most finished rows that `done` returns. */
const MOST_DONE = 32;

/** Rows of consolidations (table `archives`). Each row holds what is needed to continue it after a crash. */
export class Consolidations extends JournalStore {
  /** Inserts a row in state `pending`. Resolves when it is durable. */
  begin(draft: ConsolidationDraft): Promise<ConsolidationRow> {
    const { db, clock } = this.journal;
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
    const row = this.journal.db.get('SELECT * FROM archives WHERE id = ?', id);
    return row === undefined ? undefined : toConsolidation(row);
  }

  /** Rows that are `pending` or `answered`, of one session or of all, oldest first. */
  open(session?: string): readonly ConsolidationRow[] {
    const { db } = this.journal;
    const sql = "SELECT * FROM archives INDEXED BY archives_open WHERE state IN ('pending', 'answered')";
    const rows =
      session === undefined ? db.all(`${sql} ORDER BY id`) : db.all(`${sql} AND session = ? ORDER BY id`, session);
    return rows.map(toConsolidation);
  }

  /** The newest finished rows of a session, at most 32, newest first. */
  done(session: string): readonly ConsolidationRow[] {
    return this.journal.db
      .all("SELECT * FROM archives WHERE state = 'done' AND session = ? ORDER BY id DESC LIMIT ?", session, MOST_DONE)
      .map(toConsolidation);
  }

  /** Changes the given fields of a row; fields that are left out stay. Resolves when it is durable. */
  save(id: string, change: ConsolidationChange): Promise<void> {
    const { db, clock } = this.journal;
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

  /** The newest message of a session that is not pruned; it says where notices go and whether the chat is direct. */
  lastMessage(session: string): InboundMessage | undefined {
    const row = this.journal.db.get(
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
