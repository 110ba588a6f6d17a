import type { InboundMessage } from '../../core/api.ts';
import { unfinishedTurn, type Journal, type Row } from '../../core/api-tables.ts';

/** One heartbeat: a model looked at HEARTBEAT.md, and perhaps a turn followed. */
export interface Look {
  /** Milliseconds since 1970; no two looks have the same. */
  readonly at: number;
  /** `refused`: the model's server did not take the key, or no credit is left. */
  readonly action: 'skip' | 'run' | 'failed' | 'refused';
  /** For `run` the task, else why nothing was done. */
  readonly reason: string;
  /** State of the turn that did the task; null: there was none. */
  readonly turn: 'waiting' | 'running' | 'answered' | 'failed' | 'stopped' | null;
  /** Whether the result is sent to the owner; null: not decided. */
  readonly notified: boolean | null;
  /** Reason of `notified`. */
  readonly verdict: string | null;
}

const SELECT = `SELECT look.*, inbound.state AS inbound_state, turns.outcome AS outcome
  FROM heartbeat AS look LEFT JOIN core_messages AS inbound ON inbound.id = look.inbound_id
  LEFT JOIN core_turns AS turns ON turns.id = inbound.turn_id`;

/** The heartbeats: when a model looked, what it decided, and whether its result was sent to the owner. */
export class Looks {
  readonly #journal: Pick<Journal, 'db' | 'inbox'>;

  constructor(journal: Pick<Journal, 'db' | 'inbox'>) {
    this.#journal = journal;
  }

  /** The newest looks, newest first, at most `limit`. */
  newest(limit: number): readonly Look[] {
    return this.#journal.db.all(`${SELECT} ORDER BY look.at DESC LIMIT ?`, limit).map(toLook);
  }

  /** The look that published an inbound message; undefined: none. */
  ofMessage(inboundId: string): Look | undefined {
    return this.#journal.db.all(`${SELECT} WHERE look.inbound_id = ?`, inboundId).map(toLook)[0];
  }

  /** Inserts a look before the model is asked, so that after a crash it is not asked again at once. */
  begin(at: number): Promise<void> {
    const { db } = this.#journal;
    return db.write(() => {
      db.run(
        `INSERT OR IGNORE INTO heartbeat (at, action, reason) VALUES (?, 'failed', 'the process stopped while a model was asked')`,
        at,
      );
    });
  }

  /** Stores the decision of a look; `inbound`, the message for the turn that does the task, is queued in the same transaction. */
  end(at: number, look: Pick<Look, 'action' | 'reason'>, inbound?: InboundMessage): Promise<void> {
    const { db } = this.#journal;
    return db.write(() => {
      db.run(
        'UPDATE heartbeat SET action = ?, reason = ?, inbound_id = ? WHERE at = ?',
        look.action,
        look.reason,
        inbound?.id ?? null,
        at,
      );
      if (inbound !== undefined) this.#journal.inbox.enqueueInternal(inbound);
    });
  }

  /** Stores whether the result is sent to the owner. A decision that exists already stays. */
  judge(at: number, notified: boolean, verdict: string): Promise<void> {
    const { db } = this.#journal;
    return db.write(() => {
      db.run('UPDATE heartbeat SET told = ?, verdict = ? WHERE at = ? AND told IS NULL', notified ? 1 : 0, verdict, at);
    });
  }

  /** How many of the newest looks in a row are `refused`, at most 10, and the time of the first of them. */
  refused(): { readonly count: number; readonly since: number } {
    const looks = this.newest(10);
    const other = looks.findIndex(({ action }) => action !== 'refused');
    const count = other === -1 ? looks.length : other;
    return { count, since: looks[count - 1]?.at ?? 0 };
  }

  /** How many of the newest heartbeat turns in a row failed, at most 10. */
  failedTurns(): number {
    const ended = this.newest(50)
      .filter(({ turn }) => turn === 'answered' || turn === 'failed')
      .slice(0, 10);
    const good = ended.findIndex(({ turn }) => turn !== 'failed');
    return good === -1 ? ended.length : good;
  }
}

function toLook(row: Row): Look {
  const notified = row.numberOrNull('told');
  return {
    at: row.number('at'),
    action: actionOf(row.text('action')),
    reason: row.text('reason'),
    turn: turnOf(row),
    notified: notified === null ? null : notified === 1,
    verdict: row.textOrNull('verdict'),
  };
}

function actionOf(action: string): Look['action'] {
  return action === 'run' || action === 'skip' || action === 'refused' ? action : 'failed';
}

function turnOf(row: Row): Look['turn'] {
  if (row.textOrNull('inbound_state') === null) return null;
  const open = unfinishedTurn(row);
  if (open !== undefined) return open;
  const outcome = row.textOrNull('outcome');
  return outcome === 'failed' || outcome === 'stopped' ? outcome : 'answered';
}
