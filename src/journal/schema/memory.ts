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
