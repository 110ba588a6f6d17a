import type { Clock } from '../../core/util/clock.ts';
import { readStoreAddress } from '../../core/storage/store-address.ts';
import { AppError } from '../../core/util/errors.ts';
import type { JournalTable } from './journal-tables.ts';
import { Postgres, type StoredRow } from './postgres.ts';
import { isInstalled, schemaDigest } from './schema.ts';
import { serversOf } from './servers.ts';

/** Where an address of PostgreSQL leads; the driver fills in what it leaves out. */
export interface ServerAddress {
  /** A name, an address, or the folder of a socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
}

/** What a user may do with the tables of homes. */
export interface TableRights {
  /** `missing`: no version was started with this database; `older`: this version has to add tables or columns. */
  readonly installed: 'yes' | 'older' | 'missing';
  /** May make what is not there. */
  readonly mayInstall: boolean;
  /** Who owns the schema; null: there is none. */
  readonly owner: string | null;
  /** Tables that it may not read and write, in order. */
  readonly refused: readonly string[];
}

/** What a server says of itself and of a connection to it. */
export interface ServerFacts {
  /** From the first packet to the first answer, ms. */
  readonly connectMs: number;
  /** As the server names it, e.g. `15.14`. */
  readonly version: string;
  readonly major: number;
  readonly isEncrypted: boolean;
  /** It is a standby, or its transactions are read-only. */
  readonly isReadOnly: boolean;
  /** Two connections share one of the server: a pooler in transaction mode is in between. */
  readonly isPooled: boolean;
  /** By how much the clock here is ahead of the server's, ms; negative: behind. */
  readonly clockAheadMs: number;
  /** How long a commit takes, the middle of several, ms; an error: it does not end; null: the server takes no writes. */
  readonly commitMs: number | AppError | null;
  /** `fsync` of the server. */
  readonly waitsForDisk: boolean;
  /** `synchronous_commit` of the server, for this user. */
  readonly synchronousCommit: string;
  /** `synchronous_standby_names`; empty: none. */
  readonly standbys: string;
  readonly rights: TableRights;
}

/** Commits that are measured, after one that opens what they need. */
const COMMITS = 5;

export interface ServerFactsOptions {
  readonly clock: Clock;
  readonly tables: readonly JournalTable[];
  /** A call that takes longer is given up; ms. */
  readonly callMs: number;
}

/** Each server that an address names, as the driver reads it. Throws what the driver throws for one that it cannot read. */
export async function readServerAddresses(url: string): Promise<readonly ServerAddress[]> {
  const { default: pg } = await import('pg');
  return serversOf(url).map((one) => {
    const { host, port, user = '', database = '' } = new pg.Client({ connectionString: readStoreAddress(one).url });
    return { host, port, user, database };
  });
}

/** Asks the server of an address about itself. Changes nothing in the database. Rejects as `Postgres` does. */
export async function readServerFacts(
  url: string,
  { clock, tables, callMs }: ServerFactsOptions,
): Promise<ServerFacts> {
  await using one = await Postgres.open(url, { clock, callMs, most: 1 });
  await using other = await Postgres.open(url, { clock, callMs, most: 1 });
  const began = clock.monotonic();
  const [first] = await one.query('SELECT pg_backend_pid() AS pid');
  const connectMs = clock.monotonic() - began;
  const [second] = await other.query('SELECT pg_backend_pid() AS pid');
  const asked = clock.now();
  const [now] = await one.query('SELECT extract(epoch FROM clock_timestamp()) * 1000 AS now');
  const answered = clock.now();
  const [row = {}] = await one.query(ABOUT);
  const isReadOnly = row['read_only'] === true;
  return {
    connectMs,
    version: String(row['version']).replace(/ .*$/u, ''),
    major: Math.floor(Number(row['number']) / 10_000),
    isEncrypted: row['encrypted'] === true,
    isReadOnly,
    isPooled: first?.['pid'] === second?.['pid'],
    clockAheadMs: (asked + answered) / 2 - Number(now?.['now']),
    waitsForDisk: row['fsync'] === 'on',
    synchronousCommit: String(row['synchronous']),
    standbys: String(row['standbys']),
    rights: await readRights(one, row, tables),
    // The last, because one that does not end takes the connection with it.
    commitMs: isReadOnly ? null : await measureCommit(one, clock).catch(asFound),
  };
}

function asFound(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

const ABOUT = `
SELECT current_setting('server_version') AS version, current_setting('server_version_num') AS number,
  coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS encrypted,
  current_setting('transaction_read_only') = 'on' AS read_only,
  current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS synchronous,
  current_setting('synchronous_standby_names') AS standbys,
  (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE nspname = 'assistant') AS owner,
  coalesce((SELECT pg_has_role(nspowner, 'USAGE') FROM pg_namespace WHERE nspname = 'assistant'),
    has_database_privilege(current_database(), 'CREATE')) AS may_create,
  coalesce((SELECT has_schema_privilege(oid, 'USAGE') FROM pg_namespace WHERE nspname = 'assistant'), false) AS may_use,
  (SELECT coalesce(bool_and(pg_has_role(relowner, 'USAGE')), true) FROM pg_class
    WHERE relnamespace = to_regnamespace('assistant') AND relkind = 'r') AS owns_tables`;

const REFUSED = `
SELECT relname AS name FROM pg_class
WHERE relnamespace = to_regnamespace('assistant') AND relkind = 'r' AND NOT (
  has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
  AND has_table_privilege(oid, 'UPDATE') AND has_table_privilege(oid, 'DELETE'))
ORDER BY relname`;

async function readRights(postgres: Postgres, row: StoredRow, tables: readonly JournalTable[]): Promise<TableRights> {
  const owner = typeof row['owner'] === 'string' ? row['owner'] : null;
  const mayInstall = row['may_create'] === true && row['owns_tables'] === true;
  if (owner === null) return { installed: 'missing', mayInstall, owner, refused: [] };
  if (row['may_use'] !== true) return { installed: 'yes', mayInstall, owner, refused: ['assistant'] };
  const refused = (await postgres.query(REFUSED)).map(({ name }) => String(name));
  const installed = refused.includes('installed') || (await isInstalled(postgres, schemaDigest(tables)));
  return { installed: installed ? 'yes' : 'older', mayInstall, owner, refused };
}

/** A message in the server's log of changes is committed as any row is, and leaves nothing in a table. */
async function measureCommit(postgres: Postgres, clock: Clock): Promise<number> {
  const commit = { text: "SELECT pg_logical_emit_message(true, 'assistant', 'how long does a commit take')" };
  await postgres.transaction([commit]);
  const times: number[] = [];
  while (times.length < COMMITS) {
    const began = clock.monotonic();
    await postgres.transaction([commit]);
    times.push(clock.monotonic() - began);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(COMMITS / 2)] ?? 0;
}
