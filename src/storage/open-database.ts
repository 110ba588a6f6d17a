import { closeSync, existsSync, openSync } from 'node:fs';
import { open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { backup, DatabaseSync } from 'node:sqlite';
import { AppError, errorMessage } from '../util/errors.ts';
import { ensureDirectory, requireSpace, syncDirectory } from './files.ts';

/** One step of a schema: its position in the list is the version it leads to. */
export interface Migration {
  /** It only adds what others need not know, and leaves the meaning of everything else as it was. */
  readonly additive: boolean;
  readonly sql: string;
}

/** A step after which programs that do not know it can still work with the file. */
export const added = (sql: string): Migration => ({ additive: true, sql });

/** A step that shuts out programs that do not know it. */
export const changed = (sql: string): Migration => ({ additive: false, sql });

export interface OpenDatabaseOptions {
  readonly path: string;
  readonly migrations: readonly Migration[];
  /** Where a copy goes before a migration of an existing file; null for none. */
  readonly backupPath: ((fromVersion: number) => string) | null;
}

/**
 * Opens an SQLite file in WAL mode and brings its schema up to date. `synchronous` is NORMAL: a commit survives the end
 * of the process at once and a power loss when `Database` has synced the log. Automatic checkpoints are off, because
 * they would run on the event loop; `Database` runs them in a thread. A file of a newer program is opened as it is when
 * all that program's steps were additive. Throws `database-unusable`, or `database-too-new` for any other file of a newer
 * program, which stays untouched.
 */
export async function openDatabase(options: OpenDatabaseOptions): Promise<DatabaseSync> {
  const existed = existsSync(options.path);
  let db: DatabaseSync;
  try {
    // SQLite gives its side files the mode of the file itself.
    if (!existed) closeSync(openSync(options.path, 'a', 0o600));
    db = new DatabaseSync(options.path, { timeout: 250 });
    // Only of effect before the first table: an older file is brought over by `vacuumDatabase`.
    db.exec(`PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
      PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = ${WAL_KEPT_BYTES};`);
  } catch (error) {
    throw new AppError('database-unusable', `Could not open ${options.path}: ${errorMessage(error)}.`, {
      cause: error,
    });
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
    // Whatever an earlier process left in the log, and the migration, survives a power loss from here on.
    db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } catch (error) {
    db.close();
    throw error;
  }
  return db;
}

/** The log keeps at most this much room on the disk after a checkpoint. */
const WAL_KEPT_BYTES = 16 * 1024 * 1024;

/** Copies an open database by SQLite's own means: reading the file by another descriptor would drop SQLite's locks. */
async function backUp(db: DatabaseSync, path: string): Promise<void> {
  const partial = `${path}.partial`;
  await ensureDirectory(dirname(path));
  const { size } = await stat(db.location() ?? path);
  // With as much again for the migration itself. Said before, so that a full disk is not made fuller by the try.
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

/** The oldest schema whose programs may read a file; one that does not say so is for programs of its own schema. */
function oldestReader(db: DatabaseSync, version: number): number {
  const hasReader = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'schema_reader'").get() !== undefined;
  return hasReader ? Number(db.prepare('SELECT min FROM schema_reader').get()?.['min'] ?? version) : version;
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
