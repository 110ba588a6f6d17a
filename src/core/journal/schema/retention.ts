import { added, changed } from '../../storage/open-database.ts';

/**
 * Migration: what retention needs to remove old rows. Indexes by age; tables for the dedupe keys of removed messages (as
 * hashes), the owners' chats, usage totals, and the report of the last sweep; and columns
 * that let rows of `usage` stand for an hour or a day.
 */
export const retentionTables = changed(`
  CREATE INDEX inbound_open ON inbound (state) WHERE state IN ('accepted', 'running');
  CREATE INDEX inbound_heard ON inbound (channel, received_at) WHERE origin = 'user';
  CREATE INDEX inbound_unanswered ON inbound (seq) WHERE state <> 'done' AND payload IS NOT NULL;
  CREATE INDEX outbound_undelivered ON outbound (seq)
    WHERE state NOT IN ('delivered', 'streaming') AND payload IS NOT NULL;
  CREATE INDEX parts_platform ON parts (platform_id) WHERE platform_id IS NOT NULL;

  CREATE INDEX inbound_payload_age ON inbound (updated_at)
    WHERE payload IS NOT NULL AND state IN ('done', 'refused', 'dead');
  CREATE INDEX inbound_age ON inbound (updated_at) WHERE state IN ('done', 'refused', 'dead');
  CREATE INDEX outbound_payload_age ON outbound (updated_at)
    WHERE payload IS NOT NULL AND state IN ('delivered', 'dead', 'expired');
  CREATE INDEX outbound_age ON outbound (updated_at) WHERE state IN ('delivered', 'dead', 'expired');
  CREATE INDEX turns_age ON turns (updated_at) WHERE state IN ('done', 'dead');
  CREATE INDEX approvals_age ON approvals (updated_at) WHERE state <> 'waiting';
  CREATE INDEX asks_age ON asks (updated_at) WHERE state <> 'waiting';
  CREATE INDEX questions_age ON questions (updated_at) WHERE state <> 'waiting';
  CREATE INDEX archives_age ON archives (updated_at) WHERE state IN ('done', 'dropped');

  CREATE TABLE dedupe (
    key BLOB NOT NULL PRIMARY KEY,
    at  INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX dedupe_age ON dedupe (at);

  CREATE TABLE owner_chats (
    channel TEXT NOT NULL,
    chat    TEXT NOT NULL,
    direct  INTEGER NOT NULL,
    payload TEXT NOT NULL,
    seq     INTEGER NOT NULL,
    PRIMARY KEY (channel, chat)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO owner_chats (channel, chat, direct, payload, seq)
    SELECT channel, chat, coalesce(json_extract(payload, '$.chatType') = 'direct', 0),
    json_remove(json_set(payload, '$.text', '', '$.media', json('[]'), '$.context', json('[]'), '$.metadata', json('{}')),
      '$.edits', '$.replyTo'), max(seq) FROM inbound
    WHERE role = 'owner' AND origin = 'user' AND payload IS NOT NULL GROUP BY channel, chat;

  ALTER TABLE usage ADD COLUMN span TEXT NOT NULL DEFAULT 'call' CHECK (span IN ('call', 'hour', 'day'));
  ALTER TABLE usage ADD COLUMN calls INTEGER NOT NULL DEFAULT 1;
  ALTER TABLE usage ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;
  CREATE INDEX usage_calls ON usage (at) WHERE span = 'call';
  CREATE INDEX usage_hours ON usage (at) WHERE span = 'hour';
  CREATE TABLE usage_total (
    session     TEXT PRIMARY KEY,
    calls       INTEGER NOT NULL,
    input       INTEGER NOT NULL,
    cached      INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cost        REAL NOT NULL,
    unpriced    INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  INSERT INTO usage_total
    SELECT session, count(*), sum(input), sum(cached), sum(cache_write), sum(output), sum(reasoning),
      total(cost_usd), count(*) - count(cost_usd) FROM usage GROUP BY session;
  INSERT INTO usage_total
    SELECT '', sum(calls), sum(input), sum(cached), sum(cache_write), sum(output), sum(reasoning), sum(cost),
      sum(unpriced) FROM usage_total HAVING count(*) > 0;

  CREATE TABLE swept (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    report TEXT NOT NULL
  ) STRICT;
`);

/** Migration: how many of the calls of a row, and of a session's total, have tokens that we estimated. */
export const estimatedUsage = added(`
  ALTER TABLE usage ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE usage_estimates (
    session TEXT PRIMARY KEY,
    calls   INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`);
