import type { SQLInputValue, SQLOutputValue } from 'node:sqlite';
import type { JournalTable } from './journal-tables.ts';

/** PostgreSQL's text cannot hold NUL, which SQLite's can: NUL is written as SUB and 0, SUB as SUB and 1. */
const ESCAPED = /[\0\u001A]/u;
const ESCAPED_ALL = /[\0\u001A]/gu;
const ESCAPES = /\u001A[01]/gu;

/** A value as JSON takes it to PostgreSQL. */
export function toStored(value: SQLOutputValue): string | number | null {
  if (typeof value === 'string') {
    return ESCAPED.test(value) ? value.replaceAll(ESCAPED_ALL, (c) => (c === '\0' ? '\u001A0' : '\u001A1')) : value;
  }
  if (value instanceof Uint8Array) return `\\x${Buffer.from(value).toString('hex')}`;
  if (typeof value === 'bigint') throw new RangeError('a number of the journal is too large');
  return value;
}

/** A value of a column as PostgreSQL gives it, for SQLite. */
export function fromStored(value: unknown): SQLInputValue {
  if (typeof value === 'string') return value.replaceAll(ESCAPES, (s) => (s === '\u001A0' ? '\0' : '\u001A'));
  if (value === null || value === undefined) return null;
  if (typeof value === 'number' || value instanceof Uint8Array) return value;
  throw new TypeError('PostgreSQL gave a value of an unknown type');
}

/** Rows as a JSON array of objects, for `json_to_recordset`. */
export function rowsAsJson(names: readonly string[], rows: readonly (readonly SQLOutputValue[])[]): string {
  return JSON.stringify(
    rows.map((row) => Object.fromEntries(names.map((name, at) => [name, toStored(row[at] ?? null)]))),
  );
}

export const TYPES: Readonly<Record<JournalTable['columns'][number]['type'], string>> = {
  TEXT: 'text',
  INTEGER: 'bigint',
  REAL: 'double precision',
  BLOB: 'bytea',
};

/** A column of text that may be null. */
export const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/** The table of PostgreSQL that keeps one of the journal. */
export const storedName = (table: Pick<JournalTable, 'name'>): string => `assistant.${quoted(`journal_${table.name}`)}`;
