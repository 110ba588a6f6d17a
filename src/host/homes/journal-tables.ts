import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import type { Migration, SchemaPart } from '../../core/storage/open-database.ts';

/** A column of a table of the journal, by SQLite's strict types. */
export interface JournalColumn {
  readonly name: string;
  readonly type: 'TEXT' | 'INTEGER' | 'REAL' | 'BLOB';
  /** SQL of its default; null: it has none. */
  readonly fallback: string | null;
}

/** A table of the journal, which PostgreSQL keeps as `journal_<name>`. */
export interface JournalTable {
  readonly name: string;
  /** With `rowid` first where that is the key. */
  readonly columns: readonly JournalColumn[];
  /** The columns that name a row. */
  readonly key: readonly string[];
}

/** Kept with the home's row instead, or only of this copy. */
const NOT_KEPT = new Set(['schema_reader', 'schema_parts', 'cache_state']);

/** The tables of an open journal, ordered by name: the one description that both schemas are made from. */
export function journalTables(db: DatabaseSync): readonly JournalTable[] {
  const listed = db.prepare("SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table'").all();
  return listed
    .map((row) => ({ name: String(row['name']), hasRowid: Number(row['wr']) === 0 }))
    .filter(({ name }) => !name.startsWith('sqlite_') && !NOT_KEPT.has(name))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(({ name, hasRowid }) => describe(db, name, hasRowid));
}

/** The tables that these steps make, and those of further parts. */
export function tablesAfter(migrations: readonly Migration[], parts: readonly SchemaPart[]): readonly JournalTable[] {
  using db = new DatabaseSync(':memory:');
  for (const { sql } of [...migrations, ...parts.flatMap((part) => part.migrations)]) db.exec(sql);
  return journalTables(db);
}

function describe(db: DatabaseSync, name: string, hasRowid: boolean): JournalTable {
  const rows = db.prepare('SELECT name, type, dflt_value, pk FROM pragma_table_info(?) ORDER BY cid').all(name);
  const columns = rows.map((row) => ({
    name: String(row['name']),
    type: columnType(name, row['type']),
    fallback: typeof row['dflt_value'] === 'string' ? row['dflt_value'] : null,
  }));
  const key = rows
    .filter((row) => Number(row['pk']) > 0)
    .toSorted((a, b) => Number(a['pk']) - Number(b['pk']))
    .map((row) => String(row['name']));
  if (key.length > 0) return { name, columns, key };
  if (!hasRowid) throw new Error(`the table ${name} has no key`);
  return { name, columns: [{ name: 'rowid', type: 'INTEGER', fallback: null }, ...columns], key: ['rowid'] };
}

function columnType(table: string, type: SQLOutputValue | undefined): JournalColumn['type'] {
  if (type === 'TEXT' || type === 'INTEGER' || type === 'REAL' || type === 'BLOB') return type;
  throw new Error(`a column of ${table} has the type ${String(type)}, which PostgreSQL has no match for`);
}
