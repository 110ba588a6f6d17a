import { added, changed } from '../../storage/open-database.ts';

/** Migration: scheduled jobs and their runs, and the looks of the heartbeat. */
export const cronTables = added(`
  CREATE TABLE cron_job (
    id         TEXT PRIMARY KEY,
    hash       TEXT NOT NULL,
    definition TEXT NOT NULL,
    role       TEXT NOT NULL,
    creator    TEXT NOT NULL,
    enabled    INTEGER NOT NULL,
    settled    INTEGER NOT NULL,
    since      INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'over', 'removed')),
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE cron_run (
    job         TEXT NOT NULL,
    due_at      INTEGER NOT NULL,
    last_due    INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('claimed', 'missed', 'skipped')),
    inbound_id  TEXT,
    outbound_id TEXT,
    reason      TEXT,
    late_ms     INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (job, due_at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX cron_run_inbound ON cron_run (inbound_id) WHERE inbound_id IS NOT NULL;

  CREATE TABLE heartbeat (
    at     INTEGER PRIMARY KEY,
    action TEXT NOT NULL CHECK (action IN ('skip', 'run', 'failed')),
    reason TEXT NOT NULL
  ) STRICT;
`);

/** Migration: what came of each look of the heartbeat. */
export const heartbeatTable = changed(`
  DROP TABLE heartbeat;
  CREATE TABLE heartbeat (
    at         INTEGER PRIMARY KEY,
    action     TEXT NOT NULL CHECK (action IN ('skip', 'run', 'failed', 'refused')),
    reason     TEXT NOT NULL,
    inbound_id TEXT,
    told       INTEGER,
    verdict    TEXT
  ) STRICT;
  CREATE INDEX heartbeat_inbound ON heartbeat (inbound_id) WHERE inbound_id IS NOT NULL;
  CREATE INDEX turns_parent ON turns (parent) WHERE parent IS NOT NULL;
`);
