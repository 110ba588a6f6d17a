import { hash } from 'node:crypto';
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { JournalTable } from './journal-tables.ts';
import type { Postgres } from './postgres.ts';
import { quoted, storedName, toStored } from './stored-values.ts';

/** What tells whether two copies of a table are the same: how many rows, and the sum of a part of each row's hash. */
export interface TableDigest {
  readonly table: string;
  readonly rows: number;
  /** Decimal. */
  readonly sum: string;
}

/** Digits of each row's hash that are added up: 60 bits. */
const HASH_DIGITS = 15;

/** Of an SQLite journal. Blocks the event loop for about 5 µs a row. */
export function digestOfCache(db: DatabaseSync, tables: readonly JournalTable[]): readonly TableDigest[] {
  return tables.map((table) => {
    const columns = table.columns.map(({ name }) => quoted(name)).join(', ');
    const statement = db.prepare(`SELECT ${columns} FROM ${quoted(table.name)}`);
    statement.setReturnArrays(true);
    let rows = 0;
    let sum = 0n;
    for (const row of statement.iterate() as unknown as Iterable<SQLOutputValue[]>) {
      rows += 1;
      const text = table.columns.map(({ type }, at) => fieldText(type, row[at] ?? null)).join('');
      sum += BigInt(`0x${hash('sha256', text, 'hex').slice(0, HASH_DIGITS)}`);
    }
    return { table: table.name, rows, sum: String(sum) };
  });
}

/** Tables with fewer rows share a statement. */
const FEW_ROWS = 1_000;

/** Of the rows that PostgreSQL keeps for a home; computed there. Tables without a row are only counted. */
export async function digestOfStore(
  postgres: Postgres,
  home: string,
  tables: readonly JournalTable[],
): Promise<readonly TableDigest[]> {
  const counts = await ofEach(postgres, home, tables, () => "'0'");
  const rowsOf = ({ name }: JournalTable): number => counts.get(name)?.rows ?? 0;
  const few = tables.filter((table) => rowsOf(table) > 0 && rowsOf(table) < FEW_ROWS);
  const many = tables.filter((table) => rowsOf(table) >= FEW_ROWS).map((table) => [table]);
  const sums = await Promise.all([few, ...many].map((some) => ofEach(postgres, home, some, sumSql)));
  const found = new Map([...counts, ...sums.flatMap((some) => [...some])]);
  return tables.map(({ name }) => ({ table: name, rows: 0, sum: '0', ...found.get(name) }));
}

/** Counts the rows of each table, beside what this expression makes of them. */
async function ofEach(
  postgres: Postgres,
  home: string,
  tables: readonly JournalTable[],
  sum: (table: JournalTable) => string,
): Promise<ReadonlyMap<string, Pick<TableDigest, 'rows' | 'sum'>>> {
  if (tables.length === 0) return new Map();
  const each = tables.map(
    (table, at) =>
      `SELECT ${at} AS "table", count(*) AS rows, ${sum(table)} AS sum FROM ${storedName(table)} WHERE home = $1`,
  );
  const rows = await postgres.query(each.join(' UNION ALL '), [home]);
  return new Map(
    rows.map((row) => [
      tables[Number(row['table'])]?.name ?? '',
      { rows: Number(row['rows']), sum: String(row['sum']) },
    ]),
  );
}

function sumSql({ columns }: JournalTable): string {
  const text = columns.map(({ type, name }) => fieldSql(type, quoted(name))).join(' || ');
  return `coalesce(sum(
    ('x' || lpad(left(encode(sha256(convert_to(${text}, 'UTF8')), 'hex'), ${HASH_DIGITS}), 16, '0'))::bit(64)::bigint
  ), 0)::text`;
}

/** The names of the tables that differ. */
export function differing(some: readonly TableDigest[], others: readonly TableDigest[]): readonly string[] {
  return some
    .filter(({ table, rows, sum }) => {
      const other = others.find((one) => one.table === table);
      return other === undefined || other.rows !== rows || other.sum !== sum;
    })
    .map(({ table }) => table);
}

/** A value so that no two rows have the same text; `fieldSql` writes the same. */
function fieldText(type: JournalTable['columns'][number]['type'], value: SQLOutputValue): string {
  if (value === null) return 'n';
  if (type === 'REAL') {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(Number(value));
    return `v16:${bytes.toString('hex')}`;
  }
  const text = value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(toStored(value));
  return `v${Buffer.byteLength(text)}:${text}`;
}

function fieldSql(type: JournalTable['columns'][number]['type'], column: string): string {
  const sized = (text: string): string => `coalesce('v' || octet_length(${text}) || ':' || ${text}, 'n')`;
  switch (type) {
    case 'REAL':
      return sized(`encode(float8send(${column}), 'hex')`);
    case 'BLOB':
      return sized(`encode(${column}, 'hex')`);
    case 'INTEGER':
      return sized(`${column}::text`);
    case 'TEXT':
      return sized(column);
  }
}
