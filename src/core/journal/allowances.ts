import type { Row } from '../storage/database.ts';
import { JournalStore, type JournalDatabase } from './rows.ts';

/** A command that an owner allowed from now on: exactly this program with these arguments in this folder. */
export interface Allowance {
  readonly id: string;
  /** The absolute path of the program, then its arguments. */
  readonly program: readonly string[];
  /** Absolute path of the folder in which it runs. */
  readonly folder: string;
  readonly createdBy: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
}

/** A new allowance; `hash` covers everything that must be the same at each run. */
export interface AllowanceDraft extends Pick<Allowance, 'program' | 'folder' | 'createdBy'> {
  readonly hash: string;
}

const ID_LENGTH = 8;

/** The commands that run without a question because an owner answered "always". */
export class Allowances extends JournalStore {
  has(hash: string): boolean {
    return this.journal.db.get('SELECT 1 FROM allowances WHERE hash = ?', hash) !== undefined;
  }

  /** All allowances, oldest first. */
  list(): readonly Allowance[] {
    return this.journal.db.all('SELECT * FROM allowances ORDER BY created_at, id').map(toAllowance);
  }

  remember(draft: AllowanceDraft): Promise<void> {
    return this.journal.db.write(() => rememberNow(this.journal, draft));
  }

  /** Removes an allowance and returns it; undefined when there is none with this id. */
  forget(id: string): Promise<Allowance | undefined> {
    const { db } = this.journal;
    return db.write(() => {
      const row = db.get('SELECT * FROM allowances WHERE id = ?', id.toLowerCase());
      db.run('DELETE FROM allowances WHERE id = ?', id.toLowerCase());
      return row === undefined ? undefined : toAllowance(row);
    });
  }
}

/** Inserts an allowance within the caller's transaction; one with the same hash stays as it is. */
export function rememberNow(
  { db, clock, newId }: JournalDatabase,
  { program, folder, createdBy, hash }: AllowanceDraft,
): void {
  db.run(
    `INSERT OR IGNORE INTO allowances (id, hash, program, folder, created_by, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
    newId().slice(-ID_LENGTH).toLowerCase(),
    hash,
    JSON.stringify(program),
    folder,
    createdBy,
    clock.now(),
  );
}

function toAllowance(row: Row): Allowance {
  return {
    id: row.text('id'),
    program: JSON.parse(row.text('program')) as string[],
    folder: row.text('folder'),
    createdBy: row.text('created_by'),
    createdAt: row.number('created_at'),
  };
}
