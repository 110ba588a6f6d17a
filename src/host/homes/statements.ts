import type { SQLOutputValue } from 'node:sqlite';
import type { TableChanges } from './journal-changes.ts';
import type { JournalTable } from './journal-tables.ts';
import { quoted, rowsAsJson, storedName, TYPES } from './stored-values.ts';

/** One SQL statement and its values, `$1` being the first. */
export interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[];
}

/** Where rows are written: the home, and the write transaction that they belong to. */
export interface Place {
  readonly home: string;
  readonly revision: number;
}

/** Of `assistant.chunks` of the home $1: no list of files names the piece. */
export const IS_UNNAMED = 'hash NOT IN (SELECT unnest(chunks) FROM assistant.files WHERE home = $1)';

/** Rows in one statement. */
const ROWS = 2_000;

/** Brings a table of PostgreSQL to what changed in that of the journal. */
export function journalStatements(place: Place, { table, rows, gone, whole }: TableChanges): readonly Statement[] {
  const parts = Array.from({ length: Math.ceil(rows.length / ROWS) }, (_, n) => rows.slice(n * ROWS, (n + 1) * ROWS));
  return [
    ...(whole ? [{ text: `DELETE FROM ${storedName(table)} WHERE home = $1`, values: [place.home] }] : []),
    ...parts.map((part) => ({
      text: upsertOf(table),
      values: [place.home, place.revision, rowsAsJson(namesOf(table), part)],
    })),
    ...(gone.length > 0 ? remove(place, table, gone) : []),
  ];
}

/** By table: the text is long, is made from many parts and is always the same. */
const UPSERTS = new WeakMap<JournalTable, string>();

function upsertOf(table: JournalTable): string {
  const known = UPSERTS.get(table);
  if (known !== undefined) return known;
  const names = namesOf(table);
  const columns = names.map(quoted);
  const rest = columns.filter((column) => !table.key.map(quoted).includes(column));
  const text = `INSERT INTO ${storedName(table)} (home, revision, ${columns.join(', ')})
      SELECT $1, $2, ${columns.map((column) => `r.${column}`).join(', ')} FROM ${recordset(table, names, '$3')}
      ON CONFLICT (home, ${table.key.map(quoted).join(', ')}) DO UPDATE SET revision = excluded.revision
      ${rest.map((column) => `, ${column} = excluded.${column}`).join('')}`;
  UPSERTS.set(table, text);
  return text;
}

const namesOf = (table: JournalTable): readonly string[] => table.columns.map(({ name }) => name);

function remove({ home, revision }: Place, table: JournalTable, gone: TableChanges['gone']): readonly Statement[] {
  const keys = rowsAsJson(table.key, gone as readonly (readonly SQLOutputValue[])[]);
  const same = table.key.map((key) => `t.${quoted(key)} = r.${quoted(key)}`).join(' AND ');
  return [
    {
      text: `DELETE FROM ${storedName(table)} AS t USING ${recordset(table, table.key, '$2')} WHERE t.home = $1 AND ${same}`,
      values: [home, keys],
    },
    {
      text: `INSERT INTO assistant.gone (home, revision, tbl, key)
        SELECT $1, $2, $3, key FROM json_array_elements($4::json) AS key`,
      values: [home, revision, table.name, keys],
    },
  ];
}

function recordset(table: JournalTable, names: readonly string[], parameter: string): string {
  const types = names.map((name) => {
    const column = table.columns.find((one) => one.name === name);
    return `${quoted(name)} ${TYPES[column?.type ?? 'TEXT']}`;
  });
  return `json_to_recordset(${parameter}::json) AS r (${types.join(', ')})`;
}

/** A change of a tape: from byte `at` on it is `bytes`. `cuts`: it may have had something there. */
export interface TapeChange {
  readonly session: string;
  readonly at: number;
  readonly bytes: Uint8Array;
  readonly cuts: boolean;
}

export function tapeStatements({ home, revision }: Place, change: TapeChange): readonly Statement[] {
  const { session, at, bytes, cuts } = change;
  const cut: readonly Statement[] = [
    {
      text: 'DELETE FROM assistant.tapes WHERE home = $1 AND session = $2 AND at >= $3',
      values: [home, session, at],
    },
    {
      text: `UPDATE assistant.tapes SET bytes = substring(bytes FROM 1 FOR ($3 - at)::integer), size = $3 - at, revision = $4
        WHERE home = $1 AND session = $2 AND at < $3 AND at + size > $3`,
      values: [home, session, at, revision],
    },
  ];
  const append: Statement = {
    text: 'INSERT INTO assistant.tapes (home, session, at, size, bytes, revision) VALUES ($1, $2, $3, $4, $5, $6)',
    values: [home, session, at, bytes.length, bytes, revision],
  };
  return [...(cuts ? cut : []), ...(bytes.length > 0 ? [append] : [])];
}

/** Appends that follow one another become one, so that a transaction writes one row for each tape. */
export function joinedAppends(changes: readonly TapeChange[]): readonly TapeChange[] {
  const joined = new Map<string, TapeChange[]>();
  for (const change of changes) {
    const list = joined.get(change.session) ?? [];
    const last = list.at(-1);
    if (last !== undefined && !change.cuts && last.at + last.bytes.length === change.at) {
      list[list.length - 1] = { ...last, bytes: Buffer.concat([last.bytes, change.bytes]) };
    } else {
      list.push(change);
    }
    joined.set(change.session, list);
  }
  return [...joined.values()].flat();
}

export interface Fence extends Place {
  readonly epoch: number;
  readonly leaseMs: number;
  /** Up to which commit of the SQLite file this transaction goes. */
  readonly commits: number;
  readonly sequences: Readonly<Record<string, number>>;
}

/** SQLSTATE of a fence that did not hold: division by zero. */
export const FENCE_FELL = '22012';

/**
 * The first statement of each write transaction: it counts it and extends the lease, or fails and takes the transaction with
 * it, when the home has another epoch, its lease ran out, or this transaction was committed before.
 */
export function fence({ home, epoch, revision, leaseMs, commits, sequences }: Fence): Statement {
  return {
    text: `WITH held AS (
        UPDATE assistant.homes SET revision = $3, commits = $4, sequences = $5::json,
          lease_until = clock_timestamp() + $6 * interval '1 ms', written_at = clock_timestamp()
        WHERE name = $1 AND epoch = $2 AND revision = $3 - 1 AND lease_until > now() RETURNING 1
      ) SELECT 1 / count(*) FROM held`,
    values: [home, epoch, revision, commits, JSON.stringify(sequences), leaseMs],
  };
}

/** The last statement of a transaction that may take longer than the lease, which began to run when the fence was passed. */
export function extension({ home, leaseMs }: Pick<Fence, 'home' | 'leaseMs'>): Statement {
  return {
    text: "UPDATE assistant.homes SET lease_until = clock_timestamp() + $2 * interval '1 ms' WHERE name = $1",
    values: [home, leaseMs],
  };
}

/** The last statement of the transaction that completes a home: from now on its rows are whole. */
export function schemaStatement(home: string, schema: number, oldestReader: number): Statement {
  return {
    text: `UPDATE assistant.homes SET schema = greatest(schema, $2), oldest_reader = greatest(oldest_reader, $3)
      WHERE name = $1`,
    values: [home, schema, oldestReader],
  };
}

/** Bytes of the values of statements, about. */
export const bytesIn = (statements: readonly Statement[]): number =>
  statements.reduce((sum, { values = [] }) => sum + values.reduce(bytesOf, 0), 0);

function bytesOf(sum: number, value: unknown): number {
  if (typeof value === 'string') return sum + value.length;
  return sum + (value instanceof Uint8Array ? value.length : 8);
}
