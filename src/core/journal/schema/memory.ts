import { added } from '../../storage/open-database.ts';

/** Migration: the consolidation of conversations into the memory. */
export const archiveTable = added(`
  CREATE TABLE archives (
    id         TEXT PRIMARY KEY,
    session    TEXT NOT NULL,
    reason     TEXT NOT NULL CHECK (reason IN ('size', 'new', 'mem')),
    role       TEXT NOT NULL,
    direct     INTEGER NOT NULL,
    up_to      TEXT,
    note       TEXT,
    state      TEXT NOT NULL CHECK (state IN ('pending', 'answered', 'done', 'dropped')),
    failures   INTEGER NOT NULL DEFAULT 0,
    result     TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX archives_open ON archives (session, id) WHERE state IN ('pending', 'answered');
  CREATE INDEX archives_done ON archives (session, id) WHERE state = 'done';
`);

/**
 * Migration: where the facts of MEMORY.md come from. A row is one time in which a fact stands in the file; `until` is null as long as it
 * does. `fact_change` holds the change of the file that is being made.
 */
export const factTables = added(`
  CREATE TABLE facts (
    seq           INTEGER PRIMARY KEY AUTOINCREMENT,
    fact          TEXT NOT NULL,
    how           TEXT NOT NULL,
    session       TEXT,
    turn          TEXT,
    since         INTEGER NOT NULL,
    until         INTEGER,
    ended_how     TEXT,
    ended_session TEXT,
    ended_turn    TEXT,
    replaced_by   TEXT
  ) STRICT;
  CREATE INDEX facts_until ON facts (until, seq);

  CREATE TABLE fact_change (
    one    INTEGER PRIMARY KEY CHECK (one = 1),
    change TEXT NOT NULL
  ) STRICT;
`);
