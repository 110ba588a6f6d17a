import { added, type Tables } from '../../core/api-tables.ts';

/** When a model looked at the open tasks, and what came of it. */
export const tables: Tables = {
  migrations: [
    added(`
  CREATE TABLE IF NOT EXISTS heartbeat (
    at         INTEGER PRIMARY KEY,
    action     TEXT NOT NULL CHECK (action IN ('skip', 'run', 'failed', 'refused')),
    reason     TEXT NOT NULL,
    inbound_id TEXT,
    told       INTEGER,
    verdict    TEXT
  ) STRICT;
  CREATE INDEX IF NOT EXISTS heartbeat_inbound ON heartbeat (inbound_id) WHERE inbound_id IS NOT NULL;
`),
  ],
  texts: { heartbeat: ['reason', 'verdict'] },
  aged: [{ store: 'heartbeats', table: 'heartbeat', key: 'at', at: 'at', keptMs: 90 * 86_400_000 }],
};
