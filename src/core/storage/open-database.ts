import { closeSync, existsSync, openSync, statSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { AppError, errorMessage } from '../util/errors.ts';
import { type Durability, ensureDirectory, requireSpace, syncDirectory } from './files.ts';
import { openFilesSentence } from './open-files.ts';

/** One step of a schema. The n-th step of a list leads to schema version n. */
export interface Migration {
  /** True: it only adds to the schema, so a program that does not know the step can still use the file. */
  readonly additive: boolean;
  readonly sql: string;
}

/** An additive step: older programs can still use the file. */
export const added = (sql: string): Migration => ({ additive: true, sql });

/** A breaking step: older programs refuse the file. */
export const changed = (sql: string): Migration => ({ additive: false, sql });

/** Tables whose steps are counted for themselves. */
export interface SchemaPart {
  readonly name: string;
  readonly migrations: readonly Migration[];
}

export interface OpenDatabaseOptions {
  readonly path: string;
  readonly migrations: readonly Migration[];
  /** Further tables. @default none */
  readonly parts?: readonly SchemaPart[];
  /** Where an existing file is copied before its migration; null: no copy is made. */
  readonly backupPath: ((fromVersion: number) => string) | null;
  /** `lazy`: nothing is synced; who keeps the file syncs it once, when it is closed. @default 'durable' */
  readonly durability?: Durability;
}

/**
 * Opens an SQLite file in WAL mode and migrates its schema. `synchronous` is NORMAL: a commit survives the end of the
 * process at once, and a power loss when `Database` has synced the log. Automatic checkpoints are off, because they
 * would run on the event loop; `Database` runs them in a thread. A file of a newer program is opened as it is if all
 * steps that this program does not know are additive; otherwise it stays untouched and `database-too-new` is thrown.
 * Throws `database-unusable` if the file cannot be opened.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<DatabaseSync> {
  const existed = existsSync(options.path);
  let db: DatabaseSync;
  try {
    // SQLite gives its log and index files the mode of the database file.
    if (!existed) closeSync(openSync(options.path, 'a', 0o600));
    db = new DatabaseSync(options.path, { timeout: 250 });
    // auto_vacuum only has an effect before the first table; `vacuumDatabase` converts older files.
    db.exec(`PRAGMA synchronous = ${options.durability === 'lazy' ? 'OFF' : 'NORMAL'};
      PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA foreign_keys = ON;
      PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${WAL_KEPT_BYTES};`);
  } catch (error) {
    const remedy = openFilesSentence();
    throw new AppError(
      'database-unusable',
      `Could not open ${options.path}: ${errorMessage(error)}.${remedy === null ? '' : ` ${remedy}`}`,
      {
        cause: error,
      },
    );
  }
  const version = userVersion(db);
  const target = options.migrations.length;
  const oldest = version > target ? oldestReader(db, version) : 0;
  if (oldest > target) {
    db.close();
    throw new AppError(
      'database-too-new',
      `${options.path} was written by a newer version (schema ${version}, for programs that know ${oldest}; this one knows ${target}). Use a newer version, or restore a backup.`,
    );
  }
  try {
    if (version < target) {
      if (existed && version > 0 && options.backupPath !== null) await backUp(db, options.backupPath(version));
      migrate(db, version, options.migrations);
    }
    for (const part of options.parts ?? []) migratePart(db, part);
    // What an earlier process left in the log, and the migration, survives a power loss after this.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/**
 * Opens an SQLite file for reading, without a change to it or to its folder. SQLite makes files beside a database in WAL mode
 * even to read it, unless it is told that nothing can change: no process has it open (`isOpen`), and its log is empty.
 */
export function openToRead(path: string, { isOpen }: { readonly isOpen: boolean }): DatabaseSync {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false });
  const url = pathToFileURL(path);
  if (!isOpen && (log === undefined || log.size === 0)) url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: true, timeout: 250 });
}

/** Bytes to which the log is truncated after a checkpoint. */
const WAL_KEPT_BYTES = 16 * 1024 * 1024;

/**
 * Copies an open database with SQLite's backup API: closing a second descriptor of the file would drop SQLite's locks.
 */
async function backUp(db: DatabaseSync, path: string): Promise<void> {
  const partial = `${path}.partial`;
  await ensureDirectory(dirname(path));
  const { size } = await stat(db.location() ?? path);
  // Room for the copy and as much for the migration; checked first, so that the attempt does not fill the disk.
  await requireSpace(dirname(path), 2 * size);
  try {
    await backup(db, partial);
    const file = await open(partial, 'r+');
    try {
      await file.chmod(0o600);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(partial, path);
    await syncDirectory(dirname(path));
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}

/** How far a file's schema has come. */
export interface SchemaFacts {
  readonly version: number;
  /** Programs that know at least this version can use the file. */
  readonly oldestReader: number;
}

export function schemaOf(db: DatabaseSync): SchemaFacts {
  const version = userVersion(db);
  return { version, oldestReader: oldestReader(db, version) };
}

function userVersion(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()?.['user_version'] ?? 0);
}

/** The oldest schema version whose programs may use the file; its own version if the file does not say. */
function oldestReader(db: DatabaseSync, version: number): number {
  const hasReader = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_reader'").get() !== undefined;
  return hasReader ? Number(db.prepare('SELECT min FROM schema_reader').get()?.['min'] ?? version) : version;
}

/** Whether a file, which nothing has open, has the tables of all these parts; true where there is none. */
export function hasParts(path: string, parts: readonly SchemaPart[]): boolean {
  if (!existsSync(path)) return true;
  using db = new DatabaseSync(path, { readOnly: true, timeout: 250 });
  const isKnown = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_parts'").get() !== undefined;
  const has = isKnown ? db.prepare('SELECT 1 FROM schema_parts WHERE name = ?') : null;
  return parts.every(({ name }) => has?.get(name) !== undefined);
}

/** Brings the tables of a part up to date. Those of a part that this program does not have stay as they are. */
function migratePart(db: DatabaseSync, { name, migrations }: SchemaPart): void {
  db.exec(
    `CREATE TABLE IF NOT EXISTS schema_parts (name TEXT PRIMARY KEY, version INTEGER NOT NULL, min INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
  );
  const row = db.prepare('SELECT version, min FROM schema_parts WHERE name = ?').get(name);
  const version = Number(row?.['version'] ?? 0);
  if (Number(row?.['min'] ?? 0) > migrations.length)
    throw new AppError(
      'database-too-new',
      `The tables of ${name} were written by a newer version. Use a newer version, or restore a backup.`,
    );
  if (version >= migrations.length) return;
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const { sql } of migrations.slice(version)) db.exec(sql);
    const oldest = migrations.findLastIndex(({ additive }) => !additive) + 1;
    db.prepare('REPLACE INTO schema_parts VALUES (?, ?, ?)').run(name, migrations.length, oldest);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function migrate(db: DatabaseSync, from: number, migrations: readonly Migration[]): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    for (const { sql } of migrations.slice(from)) db.exec(sql);
    const oldest = migrations.findLastIndex(({ additive }) => !additive) + 1;
    db.exec(`CREATE TABLE IF NOT EXISTS schema_reader (one INTEGER PRIMARY KEY CHECK (one = 1), min INTEGER NOT NULL) STRICT;
      REPLACE INTO schema_reader VALUES (1, ${oldest});
      PRAGMA user_version = ${migrations.length}`);
    db.exec('COMMIT');
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}
