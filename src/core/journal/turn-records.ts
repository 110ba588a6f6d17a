import { assistantCommand } from '../util/assistant-command.ts';
import { AppError } from '../util/errors.ts';
import type { Row } from '../storage/database.ts';
import type { JournalDatabase } from './rows.ts';

/** What the journal keeps of a turn. */
export interface TurnRecord {
  readonly id: string;
  readonly session: string;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** `answered`, `failed`, `stopped`, …; null: it is running. */
  readonly outcome: string | null;
}

/** Greater than any id. */
const AFTER_ALL = '~';
const RECORDS = 'SELECT id, session, started_at, outcome FROM turns';

/** Reads turns one by one or the newest ones; slash commands are none. */
export class TurnRecords {
  readonly #db: Pick<JournalDatabase['db'], 'all' | 'get'>;

  constructor({ db }: Pick<JournalDatabase, 'db'>) {
    this.#db = db;
  }

  /** The newest first, at most `limit`. `before`: only those older than the turn with this id. @default all */
  newest(limit: number, before = AFTER_ALL): readonly TurnRecord[] {
    const sql = `${RECORDS} WHERE id < ? AND (outcome IS NULL OR outcome <> 'command') ORDER BY id DESC LIMIT ?`;
    return this.#db.all(sql, before, limit).map(toRecord);
  }

  /** The turn with this id; undefined: there is none, or it was too long ago. */
  find(id: string): TurnRecord | undefined {
    const row = this.#db.get(`${RECORDS} WHERE id = ?`, id);
    return row === undefined ? undefined : toRecord(row);
  }
}

function toRecord(row: Row): TurnRecord {
  return {
    id: row.text('id'),
    session: row.text('session'),
    startedAt: row.number('started_at'),
    outcome: row.textOrNull('outcome'),
  };
}

/** The refusal where there is no turn with this id; undefined: no turn at all. */
export function unknownTurn(turn: string | undefined): AppError {
  const list = `To list the newest turns: ${assistantCommand('trace')}`;
  const what = turn === undefined ? 'There was no turn yet.' : `No turn has the id ${JSON.stringify(turn)}.`;
  return new AppError('turn-unknown', turn === undefined ? what : `${what} ${list}`);
}
