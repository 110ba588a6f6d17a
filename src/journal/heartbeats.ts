import type { InboundMessage } from '../bus/messages.ts';
import type { Row } from '../storage/database.ts';
import type { Inbox } from './inbox.ts';
import type { JournalPorts } from './rows.ts';

/** One look of a model at the open tasks, and what became of it. */
export interface Look {
  /** Milliseconds since 1970; no two looks have the same. */
  readonly at: number;
  /** `refused`: the model's server did not take the key, or no credit is left. */
  readonly action: 'skip' | 'run' | 'failed' | 'refused';
  /** Why nothing was done, or what was to be done. */
  readonly reason: string;
  /** How the turn that did it stands; null: there was none. */
  readonly turn: 'waiting' | 'running' | 'answered' | 'failed' | 'stopped' | null;
  /** Whether the owner is told what came of it; null: not decided. */
  readonly notified: boolean | null;
  /** Why they are, or are not. */
  readonly verdict: string | null;
}

const LOOKS = `SELECT look.*, inbound.state AS inbound_state, turns.outcome AS outcome
  FROM heartbeat AS look LEFT JOIN inbound ON inbound.id = look.inbound_id LEFT JOIN turns ON turns.id = inbound.turn_id`;

/** When a model was asked about open tasks, what it wanted, and whether the owner heard of it. */
export class Heartbeats {
  readonly #ports: JournalPorts & { readonly inbox: Inbox };

  constructor(ports: JournalPorts & { readonly inbox: Inbox }) {
    this.#ports = ports;
  }

  /** Newest first. */
  newest(limit: number): readonly Look[] {
    return this.#ports.db.all(`${LOOKS} ORDER BY look.at DESC LIMIT ?`, limit).map(toLook);
  }

  /** The look that led to a message; undefined: none did. */
  ofMessage(inboundId: string): Look | undefined {
    return this.#ports.db.all(`${LOOKS} WHERE look.inbound_id = ?`, inboundId).map(toLook)[0];
  }

  /** Written down before a model is asked, so that a crash does not make it ask again at once. */
  begin(at: number): Promise<void> {
    const { db } = this.#ports;
    return db.write(() => {
      db.run(
        `INSERT OR IGNORE INTO heartbeat (at, action, reason) VALUES (?, 'failed', 'the process stopped while a model was asked')`,
        at,
      );
    });
  }

  /** What the model said; `inbound` asks for the turn that does it, in the same transaction. */
  end(at: number, look: Pick<Look, 'action' | 'reason'>, inbound?: InboundMessage): Promise<void> {
    const { db, inbox } = this.#ports;
    return db.write(() => {
      db.run(
        'UPDATE heartbeat SET action = ?, reason = ?, inbound_id = ? WHERE at = ?',
        look.action,
        look.reason,
        inbound?.id ?? null,
        at,
      );
      if (inbound !== undefined) inbox.enqueueInternal(inbound);
    });
  }

  /** Decides for good whether the owner is told; an earlier decision stays. */
  judge(at: number, notified: boolean, verdict: string): Promise<void> {
    const { db } = this.#ports;
    return db.write(() => {
      db.run('UPDATE heartbeat SET told = ?, verdict = ? WHERE at = ? AND told IS NULL', notified ? 1 : 0, verdict, at);
    });
  }

  /** How many of the newest looks in a row were refused, at most 10, and when that began. */
  refused(): { readonly count: number; readonly since: number } {
    const looks = this.newest(10);
    const other = looks.findIndex(({ action }) => action !== 'refused');
    const count = other === -1 ? looks.length : other;
    return { count, since: looks[count - 1]?.at ?? 0 };
  }

  /** How many of the newest turns in a row failed, at most 10. */
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
  switch (row.textOrNull('inbound_state')) {
    case null:
      return null;
    case 'accepted':
      return 'waiting';
    case 'running':
      return 'running';
    case 'refused':
      return 'stopped';
    case 'dead':
      return 'failed';
    default:
  }
  const outcome = row.textOrNull('outcome');
  return outcome === 'failed' || outcome === 'stopped' ? outcome : 'answered';
}
