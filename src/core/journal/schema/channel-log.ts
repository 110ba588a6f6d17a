import { added } from '../../storage/open-database.ts';

/** Migration: which messages the channels did not take, and when they did not run; see `ChannelLog`. */
export const channelLogTables = added(`
  CREATE TABLE passed_over (
    key    BLOB PRIMARY KEY,
    reason TEXT NOT NULL,
    at     INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX passed_over_age ON passed_over (at);
  CREATE TABLE channel_states (
    channel TEXT NOT NULL,
    at      INTEGER NOT NULL,
    state   TEXT NOT NULL,
    detail  TEXT,
    PRIMARY KEY (channel, at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX channel_states_age ON channel_states (at);
`);
