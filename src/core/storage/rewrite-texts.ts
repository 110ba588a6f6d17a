import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';

type Columns = Readonly<Record<string, readonly string[]>>;

/** How many texts of these columns an SQLite file has that are meant. Others may have it open. */
export function countTexts(path: string, columns: Columns, isMeant: (text: string) => boolean): number {
  if (!existsSync(path)) return 0;
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  db.function('meant', { deterministic: true }, (text) => Number(typeof text === 'string' && isMeant(text)));
  let count = 0;
  for (const [table, column] of columnsIn(db, columns)) {
    const row = db.prepare(`SELECT count(*) AS n FROM ${table} WHERE meant(${column})`).get();
    count += Number(row?.['n'] ?? 0);
  }
  return count;
}

/**
 * Changes texts in columns of an SQLite file, and leaves nothing of the old ones in it. Columns and tables that it does not have are left
 * out. No one else may have it open. Returns how many texts were changed; `change` returns an equal text for the others.
 */
export function rewriteTexts(path: string, columns: Columns, change: (text: string) => string): number {
  if (!existsSync(path)) return 0;
  using db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec('PRAGMA secure_delete = ON');
  db.function('changed', { deterministic: true }, (text) => (typeof text === 'string' ? change(text) : text));
  let count = 0;
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const [table, column] of columnsIn(db, columns)) {
      const set = `UPDATE ${table} SET ${column} = changed(${column}) WHERE ${column} <> changed(${column})`;
      count += Number(db.prepare(set).run().changes);
    }
    db.exec('COMMIT');
  } catch (error) {
    db.exec('ROLLBACK');
    throw error;
  }
  // Also pages that were free before may hold old texts.
  if (count > 0) db.exec('VACUUM; PRAGMA wal_checkpoint(TRUNCATE)');
  return count;
}

/** Those that the file has. */
function columnsIn(db: DatabaseSync, columns: Columns): readonly (readonly [table: string, column: string])[] {
  return Object.entries(columns).flatMap(([table, wanted]) => {
    const there = new Set(
      db
        .prepare('SELECT name FROM pragma_table_info(?)')
        .all(table)
        .map(({ name }) => name),
    );
    return wanted.filter((name) => there.has(name)).map((name) => [table, name] as const);
  });
}
