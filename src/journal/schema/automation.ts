import { added, changed } from '../../storage/open-database.ts';

/** Migration: the looks of the heartbeat. */
export const firstHeartbeatTable = added(`
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
