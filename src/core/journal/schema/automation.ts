import { added, changed } from '../../storage/open-database.ts';

/** Migration: was the first table of the heartbeat, which is an extension now. */
export const firstHeartbeatTable = added('');

/** Migration: subagents by the turn that started them. The table of the heartbeat was made anew. */
export const heartbeatTable = changed(`
  DROP TABLE IF EXISTS heartbeat;
  CREATE INDEX turns_parent ON turns (parent) WHERE parent IS NOT NULL;
`);
