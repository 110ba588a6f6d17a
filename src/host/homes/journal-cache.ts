import { existsSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { type Migration, type SchemaPart, openDatabase } from '../../core/storage/open-database.ts';
import { AppError } from '../../core/util/errors.ts';
import { differing, digestOfCache, digestOfStore } from './journal-digest.ts';
import { type JournalTable, journalTables } from './journal-tables.ts';
import type { Lease } from './lease.ts';
import type { Postgres } from './postgres.ts';
import type { Statement } from './statements.ts';
import { fromStored, quoted, storedName } from './stored-values.ts';

export interface JournalCacheOptions {
  readonly postgres: Postgres;
  readonly lease: Lease;
  /** Absolute path of the SQLite file. */
  readonly path: string;
  readonly migrations: readonly Migration[];
  /** Further tables of the journal. */
  readonly tables: readonly SchemaPart[];
  /** See `isIntact`. A copy that may not be is not caught up but rebuilt: what its indices lack would not be found by a comparison. */
  readonly isIntact: boolean;
}

/**
 * How the SQLite file became what PostgreSQL has: `new`: there was nothing to bring; `unchanged`: it was closed in order, and nothing
 * changed on either side since; `sent-again`: PostgreSQL had lost transactions, and got what the folder has.
 */
export type Brought = 'new' | 'unchanged' | 'caught-up' | 'rebuilt' | 'sent-again';

/** Where a copy of a journal stands: which commit of which epoch wrote it last. */
export interface CacheState {
  readonly epoch: number;
  readonly commits: number;
}

const ROWS = 2_000;
/** Copies that an earlier epoch left are rebuilt instead of caught up. */
const KEPT_EPOCHS = 20;

/** Of the copy alone, so PostgreSQL does not have it. */
export const CACHE_STATE = `CREATE TABLE IF NOT EXISTS cache_state
  (one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, commits INTEGER NOT NULL) STRICT`;

/**
 * Makes the SQLite file what PostgreSQL has, before it is opened: with the rows that changed since, when the file stands exactly
 * where an earlier epoch ended, and anew otherwise. Verified by the number and the hashes of the rows. Throws
 * `home-differs` when even a new copy is not the same.
 */
export async function bringJournal(options: JournalCacheOptions): Promise<Brought> {
  const { postgres, lease, path, migrations, isIntact } = options;
  const { schema } = lease.claimed;
  if (schema === 0) return 'new';
  const state = !isIntact ? null : readCacheState(path, Math.min(schema, migrations.length));
  const from = state === null ? null : await revisionAt(postgres, lease.name, state);
  if (from !== null) {
    using db = new DatabaseSync(path, { timeout: 250 });
    const tables = journalTables(db);
    await apply(db, tables, options, from);
    if ((await differences(db, tables, options)).length === 0) return 'caught-up';
  }
  await rebuild(options);
  return 'rebuilt';
}

/** Removes what only copies of long ago would need to catch up. */
export function withoutOldEpochs({ name, epoch }: Lease): readonly Statement[] {
  return [
    {
      text: 'DELETE FROM assistant.epochs WHERE home = $1 AND epoch < $2',
      values: [name, epoch - KEPT_EPOCHS],
    },
    {
      text: `DELETE FROM assistant.gone WHERE home = $1
        AND revision <= (SELECT min(revision) FROM assistant.epochs WHERE home = $1)`,
      values: [name],
    },
  ];
}

/** Null: there is no file, or it is no copy of this schema. */
function readCacheState(path: string, schema: number): CacheState | null {
  if (!existsSync(path)) return null;
  try {
    using db = new DatabaseSync(path, { timeout: 250 });
    if (Number(db.prepare('PRAGMA user_version').get()?.['user_version']) !== schema) return null;
    const row = db.prepare('SELECT epoch, commits FROM cache_state').get();
    return row === undefined ? null : { epoch: Number(row['epoch']), commits: Number(row['commits']) };
  } catch {
    return null;
  }
}

/** The write transaction after which PostgreSQL had what a copy in this state has; null: it never had. */
async function revisionAt(postgres: Postgres, home: string, state: CacheState): Promise<number | null> {
  const [row] = await postgres.query(
    'SELECT revision FROM assistant.epochs WHERE home = $1 AND epoch = $2 AND commits = $3',
    [home, state.epoch, state.commits],
  );
  return row === undefined ? null : Number(row['revision']);
}

async function rebuild(options: JournalCacheOptions): Promise<void> {
  const { path, migrations, tables: parts, lease } = options;
  const partial = `${path}.rebuilding`;
  await removeDatabase(partial);
  // The steps that the rows have not seen run when the journal is opened.
  const steps = migrations.slice(0, lease.claimed.schema);
  {
    using db = await openDatabase({ path: partial, migrations: steps, parts, backupPath: null, durability: 'lazy' });
    const tables = journalTables(db);
    for (const table of tables) db.exec(`DELETE FROM ${quoted(table.name)}`);
    await apply(db, tables, options, -1);
    const differ = await differences(db, tables, options);
    if (differ.length > 0) {
      throw new AppError(
        'home-differs',
        `The journal of the home ${lease.name} cannot be rebuilt from PostgreSQL: ${differ.join(', ')} came out different. Nothing was changed there.`,
      );
    }
  }
  // Closing it put the log into it. A file that a power loss left half written could not be told from a damaged one.
  {
    await using file = await open(partial, 'r');
    await file.sync();
  }
  await removeDatabase(path);
  await rename(partial, path);
}

/** Removes an SQLite file and what lies beside it. */
async function removeDatabase(path: string): Promise<void> {
  for (const suffix of ['', '-wal', '-shm', '-journal', '-unconfirmed']) await rm(`${path}${suffix}`, { force: true });
}

/** Takes over what was written after a transaction; -1: everything. */
async function apply(
  db: DatabaseSync,
  tables: readonly JournalTable[],
  options: JournalCacheOptions,
  after: number,
): Promise<void> {
  const { postgres, lease } = options;
  db.exec('PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE');
  try {
    if (after >= 0) await removeGone(db, tables, options, after);
    for (const table of await changedTables(tables, options, after)) await applyTable(db, table, options, after);
    const [row] = await postgres.query('SELECT sequences FROM assistant.homes WHERE name = $1', [lease.name]);
    db.exec('DELETE FROM sqlite_sequence');
    for (const [name, seq] of Object.entries((row?.['sequences'] ?? {}) as Record<string, number>)) {
      db.prepare('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)').run(name, seq);
    }
    db.exec(CACHE_STATE);
    db.prepare('REPLACE INTO cache_state VALUES (1, ?, 0)').run(lease.epoch);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

/** Those with rows that were written after a transaction. */
async function changedTables(
  tables: readonly JournalTable[],
  { postgres, lease }: JournalCacheOptions,
  after: number,
): Promise<readonly JournalTable[]> {
  const each = tables.map(
    (table, at) =>
      `SELECT ${at} AS "table" WHERE EXISTS (SELECT 1 FROM ${storedName(table)} WHERE home = $1 AND revision > $2)`,
  );
  const rows = await postgres.query(each.join(' UNION ALL '), [lease.name, after]);
  const found = new Set(rows.map((row) => Number(row['table'])));
  return tables.filter((_, at) => found.has(at));
}

async function removeGone(
  db: DatabaseSync,
  tables: readonly JournalTable[],
  { postgres, lease }: JournalCacheOptions,
  after: number,
): Promise<void> {
  const rows = await postgres.query('SELECT tbl, key FROM assistant.gone WHERE home = $1 AND revision > $2', [
    lease.name,
    after,
  ]);
  for (const row of rows) {
    const table = tables.find(({ name }) => name === row['tbl']);
    if (table === undefined) continue;
    const where = table.key.map((key) => `${quoted(key)} = ?`).join(' AND ');
    const key = row['key'] as Readonly<Record<string, unknown>>;
    const values = table.key.map((name) => keyValue(table, name, key[name]));
    db.prepare(`DELETE FROM ${quoted(table.name)} WHERE ${where}`).run(...values);
  }
}

/** A key as JSON has it: bytes as PostgreSQL writes them. */
function keyValue(table: JournalTable, name: string, value: unknown): SQLInputValue {
  const isBytes = table.columns.find((column) => column.name === name)?.type === 'BLOB';
  return isBytes && typeof value === 'string' ? Buffer.from(value.slice(2), 'hex') : fromStored(value);
}

async function applyTable(
  db: DatabaseSync,
  table: JournalTable,
  { postgres, lease }: JournalCacheOptions,
  after: number,
): Promise<void> {
  const names = table.columns.map(({ name }) => quoted(name)).join(', ');
  // A program that does not know a column leaves it out: then its default holds.
  const values = table.columns.map(({ fallback }) => (fallback === null ? '?' : `coalesce(?, ${fallback})`)).join(', ');
  const insert = db.prepare(`REPLACE INTO ${quoted(table.name)} (${names}) VALUES (${values})`);
  const key = table.key.map(quoted).join(', ');
  let last: readonly unknown[] | null = null;
  for (;;) {
    const beyond = last === null ? '' : `AND (${key}) > (${table.key.map((_, at) => `$${at + 3}`).join(', ')})`;
    const rows = await postgres.query(
      `SELECT ${names} FROM ${storedName(table)} WHERE home = $1 AND revision > $2 ${beyond} ORDER BY ${key} LIMIT ${ROWS}`,
      [lease.name, after, ...(last ?? [])],
    );
    for (const row of rows) insert.run(...table.columns.map(({ name }) => fromStored(row[name])));
    const end = rows.at(-1);
    if (end === undefined || rows.length < ROWS) return;
    last = table.key.map((name) => end[name]);
  }
}

/** Names of the tables that differ from what PostgreSQL has. */
async function differences(
  db: DatabaseSync,
  tables: readonly JournalTable[],
  { postgres, lease }: JournalCacheOptions,
): Promise<readonly string[]> {
  return differing(digestOfCache(db, tables), await digestOfStore(postgres, lease.name, tables));
}
