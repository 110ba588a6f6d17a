import type { Row } from '../storage/database.ts';
import { JournalStore } from './rows.ts';

/** A fact of MEMORY.md for the time in which it stands there. Times in milliseconds since 1970. */
export interface FactRow {
  readonly seq: number;
  readonly fact: string;
  /** What wrote it, e.g. `memory_write`. */
  readonly how: string;
  readonly session: string | null;
  readonly turn: string | null;
  readonly since: number;
  /** Null: it stands. */
  readonly ended: {
    readonly how: string;
    readonly session: string | null;
    readonly turn: string | null;
    readonly at: number;
    /** The fact that took its place. */
    readonly replacedBy: string | null;
  } | null;
}

export interface FactStep {
  readonly begin: readonly Pick<FactRow, 'fact' | 'how' | 'session' | 'turn' | 'since'>[];
  readonly end: readonly {
    readonly seq: number;
    readonly by: Omit<NonNullable<FactRow['ended']>, 'replacedBy'>;
    readonly replacedBy: string | null;
  }[];
  /** Ended rows that stand again. */
  readonly resume: readonly number[];
  /** The change of the file that is about to be made; null: none is. */
  readonly change: string | null;
}

/** Ended facts that are kept; the ones that ended first are deleted. */
const MOST_ENDED = 5_000;
/** What stands in place of a text that was forgotten. */
const FORGOTTEN = '[forgotten]';

/** Where the facts of MEMORY.md come from, and what became of those that left (table `facts`). */
export class Facts extends JournalStore {
  /** The facts that stand, oldest first. */
  holding(): readonly FactRow[] {
    return this.journal.db.all('SELECT * FROM facts WHERE until IS NULL ORDER BY seq').map(toFact);
  }

  /** Ended ones, the newest end first, without those that were forgotten. */
  ended(most: number): readonly FactRow[] {
    const sql = 'SELECT * FROM facts WHERE until IS NOT NULL AND fact <> ? ORDER BY until DESC, seq DESC LIMIT ?';
    return this.journal.db.all(sql, FORGOTTEN, most).map(toFact);
  }

  /** The change that was to be made and is not known to be; null: none. */
  change(): string | null {
    return this.journal.db.get('SELECT change FROM fact_change WHERE one = 1')?.text('change') ?? null;
  }

  step({ begin, end, resume, change }: FactStep): Promise<void> {
    const { db } = this.journal;
    return db.write(() => {
      for (const { fact, how, session, turn, since } of begin) {
        db.run(
          'INSERT INTO facts (fact, how, session, turn, since) VALUES (?, ?, ?, ?, ?)',
          fact,
          how,
          session,
          turn,
          since,
        );
      }
      for (const { seq, by, replacedBy } of end) {
        db.run(
          `UPDATE facts SET until = ?, ended_how = ?, ended_session = ?, ended_turn = ?, replaced_by = ? WHERE seq = ?`,
          by.at,
          by.how,
          by.session,
          by.turn,
          replacedBy,
          seq,
        );
      }
      for (const seq of resume) {
        db.run(
          `UPDATE facts SET until = NULL, ended_how = NULL, ended_session = NULL, ended_turn = NULL, replaced_by = NULL
           WHERE seq = ?`,
          seq,
        );
      }
      if (change === null) db.run('DELETE FROM fact_change WHERE one = 1');
      else db.run('INSERT OR REPLACE INTO fact_change (one, change) VALUES (1, ?)', change);
      if (end.length === 0) return;
      db.run(
        `DELETE FROM facts WHERE seq IN
           (SELECT seq FROM facts WHERE until IS NOT NULL ORDER BY until DESC, seq DESC LIMIT -1 OFFSET ?)`,
        MOST_ENDED,
      );
    });
  }
}

function toFact(row: Row): FactRow {
  const until = row.numberOrNull('until');
  const replacedBy = row.textOrNull('replaced_by');
  return {
    seq: row.number('seq'),
    fact: row.text('fact'),
    how: row.text('how'),
    session: row.textOrNull('session'),
    turn: row.textOrNull('turn'),
    since: row.number('since'),
    ended:
      until === null
        ? null
        : {
            how: row.textOrNull('ended_how') ?? '',
            session: row.textOrNull('ended_session'),
            turn: row.textOrNull('ended_turn'),
            at: until,
            replacedBy: replacedBy === FORGOTTEN ? null : replacedBy,
          },
  };
}
