import type { Row } from '../storage/database.ts';
import { JournalStore } from './rows.ts';

/** `landing` and `taking-back` are unfinished. `lost`: the landing was unfinished and its folder is gone. */
export type LandingState = 'landing' | 'taking-back' | 'landed' | 'taken-back' | 'undone' | 'lost';

export interface LandingRecord {
  readonly id: string;
  /** Ms since 1970. */
  readonly at: number;
  readonly session: string;
  readonly turn: string;
  readonly callId: string;
  readonly command: string;
  /** The landing whose inverse this is. */
  readonly undoes: string | null;
  readonly state: LandingState;
  /** JSON. */
  readonly steps: string;
  readonly paths: readonly string[];
  readonly undoBytes: number;
  /** False: its undo copies were too large to keep. */
  readonly isKept: boolean;
  /** Begin and end, by the clock of the workspace's file system. */
  readonly begunNs: bigint;
  readonly doneNs: bigint | null;
}

/** The rows of landings. Each is written before the first entry of the workspace is replaced, and removed with its undo copies. */
export class Landings extends JournalStore {
  /** Adds the row, durable when this resolves. `also` writes in the same transaction. */
  begin(record: LandingRecord, also: () => void): Promise<void> {
    return this.journal.db.write(() => {
      this.journal.db.run(
        'INSERT INTO landings VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
        record.id,
        record.at,
        record.session,
        record.turn,
        record.callId,
        record.command,
        record.undoes,
        record.state,
        record.steps,
        JSON.stringify(record.paths),
        record.undoBytes,
        record.isKept ? 1 : 0,
        String(record.begunNs),
        null,
      );
      also();
    });
  }

  /** The inverse of a landing that has landed makes that one `undone`. */
  set({ id, undoes }: Pick<LandingRecord, 'id' | 'undoes'>, state: LandingState, doneNs?: bigint): Promise<void> {
    const { db } = this.journal;
    return db.write(() => {
      db.run(
        'UPDATE landings SET state = ?, done_ns = ifnull(?, done_ns) WHERE id = ?',
        state,
        doneNs === undefined ? null : String(doneNs),
        id,
      );
      if (state === 'landed' && undoes !== null) db.run("UPDATE landings SET state = 'undone' WHERE id = ?", undoes);
    });
  }

  get(id: string): LandingRecord | undefined {
    const row = this.journal.db.get('SELECT * FROM landings WHERE id = ?', id);
    return row && recordOf(row);
  }

  /** The landings of a turn, oldest first, without those that undo others. */
  ofTurn(session: string, turn: string): readonly LandingRecord[] {
    const sql = 'SELECT * FROM landings WHERE session = ? AND turn = ? AND undoes IS NULL ORDER BY id';
    return this.journal.db.all(sql, session, turn).map(recordOf);
  }

  /** Oldest first. */
  unfinished(): readonly LandingRecord[] {
    const sql = "SELECT * FROM landings WHERE state IN ('landing', 'taking-back') ORDER BY id";
    return this.journal.db.all(sql).map(recordOf);
  }

  /** Begin and end of each later undo. */
  undosAfter(id: string): readonly { readonly from: bigint; readonly to: bigint }[] {
    const sql = 'SELECT begun_ns, done_ns FROM landings WHERE id > ? AND undoes IS NOT NULL AND done_ns IS NOT NULL';
    return this.journal.db
      .all(sql, id)
      .map((row) => ({ from: BigInt(row.text('begun_ns')), to: BigInt(row.text('done_ns')) }));
  }

  /** Bytes of all undo copies. */
  keptBytes(): number {
    const sql = "SELECT total(undo_bytes) AS bytes FROM landings WHERE is_kept = 1 AND state IN ('landing', 'landed')";
    return this.journal.db.get(sql)?.number('bytes') ?? 0;
  }

  /** `at` of every landing by its id. */
  ages(): ReadonlyMap<string, number> {
    const rows = this.journal.db.all('SELECT id, at FROM landings');
    return new Map(rows.map((row) => [row.text('id'), row.number('at')]));
  }

  /** Records that a landing's undo copies have been removed. */
  lose(id: string): Promise<number> {
    return this.journal.db.write(() => this.journal.db.run('UPDATE landings SET is_kept = 0 WHERE id = ?', id));
  }

  remove(id: string): Promise<number> {
    return this.journal.db.write(() => this.journal.db.run('DELETE FROM landings WHERE id = ?', id));
  }
}

function recordOf(row: Row): LandingRecord {
  const doneNs = row.textOrNull('done_ns');
  return {
    id: row.text('id'),
    at: row.number('at'),
    session: row.text('session'),
    turn: row.text('turn'),
    callId: row.text('call_id'),
    command: row.text('command'),
    undoes: row.textOrNull('undoes'),
    state: row.text('state') as LandingState,
    steps: row.text('steps'),
    paths: JSON.parse(row.text('paths')) as string[],
    undoBytes: row.number('undo_bytes'),
    isKept: row.number('is_kept') === 1,
    begunNs: BigInt(row.text('begun_ns')),
    doneNs: doneNs === null ? null : BigInt(doneNs),
  };
}
