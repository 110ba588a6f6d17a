import { createHash } from 'node:crypto';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import type { JournalTable } from './journal-tables.ts';
import type { Postgres } from './postgres.ts';
import { NO_RIGHT, sqlStateOf } from './store-failure.ts';
import { quoted, storedName, TYPES } from './stored-values.ts';

/**
 * What PostgreSQL keeps of homes, besides the tables of the journal. Everything is additive, so that programs of two versions
 * can work side by side: a later version adds tables and columns that may be null or have a default, and never takes away.
 */
const OWN_TABLES = `
-- Who owns the schema need not have the right to make one.
DO $$ BEGIN
  IF to_regnamespace('assistant') IS NULL THEN CREATE SCHEMA assistant; END IF;
END $$;

-- One row names this database, so that a home knows which one it belongs to.
CREATE TABLE IF NOT EXISTS assistant.store (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id  text NOT NULL
);
INSERT INTO assistant.store (id) VALUES (gen_random_uuid()::text) ON CONFLICT DO NOTHING;

CREATE TABLE IF NOT EXISTS assistant.homes (
  name          text COLLATE "C" PRIMARY KEY,
  epoch         bigint NOT NULL DEFAULT 0,
  owner         text,
  lease_until   timestamptz,
  -- Counts the write transactions of the home, over all epochs.
  revision      bigint NOT NULL DEFAULT 0,
  -- Up to which commit of this epoch's SQLite file the rows here are.
  commits       bigint NOT NULL DEFAULT 0,
  -- Steps of the journal's schema that the rows here have seen, and how many a program has to know to use them.
  schema        integer NOT NULL DEFAULT 0,
  oldest_reader integer NOT NULL DEFAULT 0,
  -- SQLite's AUTOINCREMENT counters.
  sequences     json NOT NULL DEFAULT '{}',
  written_at    timestamptz
);
-- The folder that has the home while the database has not, by its owner's name and as people know it: it is on its way here or
-- was moved out. No gateway claims it then.
ALTER TABLE assistant.homes ADD COLUMN IF NOT EXISTS kept_by text;
ALTER TABLE assistant.homes ADD COLUMN IF NOT EXISTS kept_at text;
-- What the home takes: 1, and its write transactions a second; noted with the renewals.
ALTER TABLE assistant.homes ADD COLUMN IF NOT EXISTS load double precision NOT NULL DEFAULT 1;
-- Its gateway is handing it over.
ALTER TABLE assistant.homes ADD COLUMN IF NOT EXISTS is_leaving boolean NOT NULL DEFAULT false;
-- A write transaction changes the row of its home. It does so in place, because the page has room and no index has what changes:
-- little goes to the log, and dead rows go without a vacuum. Claims and renewals name their homes.
DROP INDEX IF EXISTS assistant.homes_free;
ALTER TABLE assistant.homes SET (fillfactor = 50);

-- How far each ended epoch came: a cache that stands exactly there can catch up.
CREATE TABLE IF NOT EXISTS assistant.epochs (
  home     text COLLATE "C" NOT NULL,
  epoch    bigint NOT NULL,
  commits  bigint NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (home, epoch)
);

-- Rows of the journal that were deleted, for caches that catch up.
CREATE TABLE IF NOT EXISTS assistant.gone (
  home     text COLLATE "C" NOT NULL,
  revision bigint NOT NULL,
  tbl      text NOT NULL,
  key      json NOT NULL
);
CREATE INDEX IF NOT EXISTS gone_home ON assistant.gone (home, revision);

-- Each append to a tape; \`at\` and \`size\` in bytes.
CREATE TABLE IF NOT EXISTS assistant.tapes (
  home     text COLLATE "C" NOT NULL,
  session  text COLLATE "C" NOT NULL,
  at       bigint NOT NULL,
  size     integer NOT NULL,
  bytes    bytea NOT NULL,
  revision bigint NOT NULL,
  PRIMARY KEY (home, session, at)
);

-- The other files: path below the home, and the hashes of their pieces in order.
CREATE TABLE IF NOT EXISTS assistant.files (
  home     text COLLATE "C" NOT NULL,
  path     text COLLATE "C" NOT NULL,
  size     bigint NOT NULL,
  mode     integer NOT NULL,
  sha256   text NOT NULL,
  chunks   text[] NOT NULL,
  -- Where a symbolic link leads; null for a file.
  target   text,
  revision bigint NOT NULL,
  PRIMARY KEY (home, path)
);
CREATE TABLE IF NOT EXISTS assistant.chunks (
  home  text COLLATE "C" NOT NULL,
  hash  text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (home, hash)
);

-- The gateways that run or wait for homes here, and those that did not long ago.
CREATE TABLE IF NOT EXISTS assistant.gateways (
  owner      text COLLATE "C" PRIMARY KEY,
  name       text NOT NULL,
  version    text NOT NULL,
  -- The one home that it runs or waits for; null: it takes its share of all.
  only_home  text COLLATE "C",
  -- Most homes that it runs.
  max        integer NOT NULL,
  -- Steps of the journal's schema that its program knows.
  schema     integer NOT NULL,
  started_at timestamptz NOT NULL,
  -- It is gone when this has passed.
  seen_until timestamptz NOT NULL,
  is_leaving boolean NOT NULL DEFAULT false,
  -- It asked for its share lately.
  is_taking  boolean NOT NULL DEFAULT false,
  -- Homes that it could not open.
  avoids     text[] NOT NULL DEFAULT '{}'
);

-- Which descriptions were installed.
CREATE TABLE IF NOT EXISTS assistant.installed (
  digest text PRIMARY KEY,
  at     timestamptz NOT NULL DEFAULT now()
);`;

/** Any number: two gateways that start together install one after the other. */
const INSTALL_LOCK = 7_019_270_425;

/** The SQL that brings a database to these tables, whatever earlier version made it. */
function schemaSql(tables: readonly JournalTable[]): string {
  return [OWN_TABLES, ...tables.flatMap(tableSql)].join('\n');
}

/** Columns that are no key may be null: a program that does not know a column yet leaves it out. */
function tableSql(table: JournalTable): readonly string[] {
  const name = storedName(table);
  const column = (key: string): string => {
    const found = table.columns.find((one) => one.name === key);
    const type = TYPES[found?.type ?? 'TEXT'];
    return `${quoted(key)} ${type}${type === 'text' ? ' COLLATE "C"' : ''}`;
  };
  const keys = table.key.map((key) => `${column(key)} NOT NULL`).join(', ');
  const key = ['home', ...table.key.map(quoted)].join(', ');
  return [
    `CREATE TABLE IF NOT EXISTS ${name} (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, ${keys}, PRIMARY KEY (${key}));`,
    `CREATE INDEX IF NOT EXISTS ${quoted(`journal_${table.name}_revision`)} ON ${name} (home, revision);`,
    ...table.columns
      .filter((one) => !table.key.includes(one.name))
      .map((one) => `ALTER TABLE ${name} ADD COLUMN IF NOT EXISTS ${column(one.name)};`),
  ];
}

/**
 * Brings the database to these tables; does nothing where that was done before, so a gateway needs no right to create then.
 * Returns the id of the database. Throws `store-refused` when a right is missing.
 */
export async function installSchema(postgres: Postgres, tables: readonly JournalTable[]): Promise<string> {
  const sql = schemaSql(tables);
  const digest = digestOf(sql);
  if (!(await isInstalled(postgres, digest))) {
    await add(postgres, sql, digest);
  }
  const [row] = await postgres.query('SELECT id FROM assistant.store');
  return String(row?.['id']);
}

async function add(postgres: Postgres, sql: string, digest: string): Promise<void> {
  try {
    await postgres.transaction([
      { text: `SELECT pg_advisory_xact_lock(${INSTALL_LOCK})` },
      { text: sql },
      { text: 'INSERT INTO assistant.installed (digest) VALUES ($1) ON CONFLICT DO NOTHING', values: [digest] },
    ]);
  } catch (error) {
    // Without a schema at all, the failure says who has to make it.
    if (sqlStateOf(error) !== NO_RIGHT || errorMessage(error).includes('for database')) throw error;
    throw new AppError(
      'store-refused',
      'The database lacks tables or columns of this version, and only the owner of the schema assistant may add them. Start a gateway of this version once with that user in the address in store.',
      { facts: { sqlState: NO_RIGHT } },
    );
  }
}

/** Under which name `installSchema` notes that a database has these tables. */
export function schemaDigest(tables: readonly JournalTable[]): string {
  return digestOf(schemaSql(tables));
}

function digestOf(sql: string): string {
  return createHash('sha256').update(sql).digest('hex');
}

/** Whether a database has the tables of this digest. Throws `store-refused` when the user may not see that. */
export async function isInstalled(postgres: Postgres, digest: string): Promise<boolean> {
  const [known] = await postgres.query("SELECT to_regclass('assistant.installed') IS NOT NULL AS known");
  if (known?.['known'] !== true) return false;
  return (await postgres.query('SELECT 1 FROM assistant.installed WHERE digest = $1', [digest])).length > 0;
}
