import { added } from '../../storage/open-database.ts';

/** Migration: what landings did, until their undo copies are removed. */
export const landingsTable = added(`
  CREATE TABLE landings (
    id         TEXT PRIMARY KEY,
    at         INTEGER NOT NULL,
    session    TEXT NOT NULL,
    turn       TEXT NOT NULL,
    call_id    TEXT NOT NULL,
    command    TEXT NOT NULL,
    undoes     TEXT,
    state      TEXT NOT NULL CHECK (state IN ('landing', 'taking-back', 'landed', 'taken-back', 'undone', 'lost')),
    steps      TEXT NOT NULL,
    paths      TEXT NOT NULL,
    undo_bytes INTEGER NOT NULL,
    is_kept    INTEGER NOT NULL,
    begun_ns   TEXT NOT NULL,
    done_ns    TEXT
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX landings_turn ON landings (session, turn);
  CREATE INDEX landings_unfinished ON landings (id) WHERE state IN ('landing', 'taking-back');
  CREATE INDEX landings_kept ON landings (undo_bytes) WHERE is_kept = 1 AND state IN ('landing', 'landed');
  CREATE INDEX landings_at ON landings (at);
`);
