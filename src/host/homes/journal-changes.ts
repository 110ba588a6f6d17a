import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite';
import type { JournalTable } from './journal-tables.ts';
import { quoted } from './stored-values.ts';

type Key = readonly SQLInputValue[];

/** What changed in one table: rows as they are now, in the order of its columns, and the keys of rows that are gone. */
export interface TableChanges {
  readonly table: JournalTable;
  readonly rows: readonly (readonly SQLOutputValue[])[];
  readonly gone: readonly Key[];
  /** The rows are the whole table. */
  readonly whole: boolean;
}

interface Watched {
  readonly table: JournalTable;
  readonly changed: Map<string, Key>;
  readonly read: StatementSync;
}

const FUNCTION = 'journal_changed';

/**
 * Knows which rows of an open journal changed since they were last taken: temporary triggers, which no other process and no
 * later one sees, hand the keys to a function of this one. Rows are read when they are taken, so a row that changed in
 * several commits is sent once, as it is then.
 */
export class JournalChanges {
  readonly #db: DatabaseSync;
  readonly #watched: readonly Watched[];
  readonly #sequences: StatementSync;
  #whole = false;

  constructor(db: DatabaseSync, tables: readonly JournalTable[]) {
    this.#db = db;
    // Without this, a row that REPLACE removes because of another unique column would not be noticed.
    db.exec('PRAGMA recursive_triggers = ON');
    this.#watched = tables.map((table) => watch(db, table));
    this.#sequences = db.prepare('SELECT name, seq FROM sqlite_sequence ORDER BY name');
    this.#sequences.setReturnArrays(true);
    db.function(FUNCTION, { varargs: true }, (table: unknown, ...key: unknown[]) => {
      this.#watched[Number(table)]?.changed.set(nameOf(key as Key), key as Key);
      return null;
    });
    for (const [at, { table }] of this.#watched.entries()) db.exec(triggers(table, at));
  }

  /** What changed since the last call. Call it outside of a transaction. */
  take(): readonly TableChanges[] {
    const whole = this.#whole;
    this.#whole = false;
    return this.#watched.filter(({ changed }) => whole || changed.size > 0).map((one) => ({ ...taken(one), whole }));
  }

  /** SQLite's AUTOINCREMENT counters by table. */
  sequences(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#sequences.all() as unknown as [string, number][]);
  }

  /** Marks every row as changed: the next `take` returns the whole journal. */
  all(): void {
    this.#whole = true;
    for (const { table, changed } of this.#watched) {
      const rows = this.#db.prepare(`SELECT ${list(table.key)} FROM ${name(table)}`);
      rows.setReturnArrays(true);
      for (const row of rows.all() as unknown as Key[]) changed.set(nameOf(row), row);
    }
  }
}

function watch(db: DatabaseSync, table: JournalTable): Watched {
  const columns = table.columns.map((column) => column.name);
  const where = table.key.map((key) => `${quoted(key)} = ?`).join(' AND ');
  const read = db.prepare(`SELECT ${list(columns)} FROM ${name(table)} WHERE ${where}`);
  read.setReturnArrays(true);
  return { table, changed: new Map(), read };
}

function taken({ table, changed, read }: Watched): Omit<TableChanges, 'whole'> {
  const rows: SQLOutputValue[][] = [];
  const gone: Key[] = [];
  for (const key of changed.values()) {
    const row = read.get(...key) as unknown as SQLOutputValue[] | undefined;
    if (row === undefined) gone.push(key);
    else rows.push(row);
  }
  changed.clear();
  return { table, rows, gone };
}

/** A row whose key changes is another row. */
function triggers(table: JournalTable, at: number): string {
  const call = (row: 'NEW' | 'OLD'): string =>
    `SELECT ${FUNCTION}(${at}, ${table.key.map((key) => `${row}.${quoted(key)}`).join(', ')});`;
  const trigger = (event: 'INSERT' | 'UPDATE' | 'DELETE', body: string): string =>
    `CREATE TEMP TRIGGER ${quoted(`changed_${table.name}_${event}`)} AFTER ${event} ON main.${name(table)} BEGIN ${body} END;`;
  return [
    trigger('INSERT', call('NEW')),
    trigger('UPDATE', `${call('OLD')} ${call('NEW')}`),
    trigger('DELETE', call('OLD')),
  ].join('\n');
}

function nameOf(key: Key): string {
  const [only] = key;
  if (key.length === 1 && (typeof only === 'string' || typeof only === 'number')) return String(only);
  return JSON.stringify(key.map((part) => (part instanceof Uint8Array ? Buffer.from(part).toString('hex') : part)));
}

const name = (table: JournalTable): string => quoted(table.name);
const list = (names: readonly string[]): string => names.map(quoted).join(', ');
