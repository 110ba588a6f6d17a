
CREATE SCHEMA IF NOT EXISTS assistant;

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
CREATE INDEX IF NOT EXISTS homes_free ON assistant.homes (lease_until);

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

-- Each append to a tape; `at` and `size` in bytes.
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

-- Which descriptions were installed.
CREATE TABLE IF NOT EXISTS assistant.installed (
  digest text PRIMARY KEY,
  at     timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS assistant."journal_allowances" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "id" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "id"));
CREATE INDEX IF NOT EXISTS "journal_allowances_revision" ON assistant."journal_allowances" (home, revision);
ALTER TABLE assistant."journal_allowances" ADD COLUMN IF NOT EXISTS "hash" text COLLATE "C";
ALTER TABLE assistant."journal_allowances" ADD COLUMN IF NOT EXISTS "program" text COLLATE "C";
ALTER TABLE assistant."journal_allowances" ADD COLUMN IF NOT EXISTS "folder" text COLLATE "C";
ALTER TABLE assistant."journal_allowances" ADD COLUMN IF NOT EXISTS "created_by" text COLLATE "C";
ALTER TABLE assistant."journal_allowances" ADD COLUMN IF NOT EXISTS "created_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_approvals" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "call_id" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "call_id"));
CREATE INDEX IF NOT EXISTS "journal_approvals_revision" ON assistant."journal_approvals" (home, revision);
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "code" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "session" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "channel" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "chat" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "thread" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "reason" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "answered_by" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "deadline" bigint;
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "created_at" bigint;
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "turn" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "hash" text COLLATE "C";
ALTER TABLE assistant."journal_approvals" ADD COLUMN IF NOT EXISTS "request" text COLLATE "C";
CREATE TABLE IF NOT EXISTS assistant."journal_archives" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "id" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "id"));
CREATE INDEX IF NOT EXISTS "journal_archives_revision" ON assistant."journal_archives" (home, revision);
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "session" text COLLATE "C";
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "reason" text COLLATE "C";
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "role" text COLLATE "C";
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "direct" bigint;
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "up_to" text COLLATE "C";
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "note" text COLLATE "C";
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "failures" bigint;
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "result" text COLLATE "C";
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "created_at" bigint;
ALTER TABLE assistant."journal_archives" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_asks" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "call_id" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "call_id"));
CREATE INDEX IF NOT EXISTS "journal_asks_revision" ON assistant."journal_asks" (home, revision);
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "code" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "session" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "turn" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "channel" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "chat" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "thread" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "person" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "choices" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "answer" text COLLATE "C";
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "deadline" bigint;
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "created_at" bigint;
ALTER TABLE assistant."journal_asks" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_channel_states" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "channel" text COLLATE "C" NOT NULL, "at" bigint NOT NULL, PRIMARY KEY (home, "channel", "at"));
CREATE INDEX IF NOT EXISTS "journal_channel_states_revision" ON assistant."journal_channel_states" (home, revision);
ALTER TABLE assistant."journal_channel_states" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_channel_states" ADD COLUMN IF NOT EXISTS "detail" text COLLATE "C";
CREATE TABLE IF NOT EXISTS assistant."journal_cron_job" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "id" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "id"));
CREATE INDEX IF NOT EXISTS "journal_cron_job_revision" ON assistant."journal_cron_job" (home, revision);
ALTER TABLE assistant."journal_cron_job" ADD COLUMN IF NOT EXISTS "hash" text COLLATE "C";
ALTER TABLE assistant."journal_cron_job" ADD COLUMN IF NOT EXISTS "definition" text COLLATE "C";
ALTER TABLE assistant."journal_cron_job" ADD COLUMN IF NOT EXISTS "role" text COLLATE "C";
ALTER TABLE assistant."journal_cron_job" ADD COLUMN IF NOT EXISTS "creator" text COLLATE "C";
ALTER TABLE assistant."journal_cron_job" ADD COLUMN IF NOT EXISTS "enabled" bigint;
ALTER TABLE assistant."journal_cron_job" ADD COLUMN IF NOT EXISTS "settled" bigint;
ALTER TABLE assistant."journal_cron_job" ADD COLUMN IF NOT EXISTS "since" bigint;
ALTER TABLE assistant."journal_cron_job" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_cron_job" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_cron_pruned" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "job" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "job"));
CREATE INDEX IF NOT EXISTS "journal_cron_pruned_revision" ON assistant."journal_cron_pruned" (home, revision);
ALTER TABLE assistant."journal_cron_pruned" ADD COLUMN IF NOT EXISTS "due_at" bigint;
ALTER TABLE assistant."journal_cron_pruned" ADD COLUMN IF NOT EXISTS "at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_cron_run" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "job" text COLLATE "C" NOT NULL, "due_at" bigint NOT NULL, PRIMARY KEY (home, "job", "due_at"));
CREATE INDEX IF NOT EXISTS "journal_cron_run_revision" ON assistant."journal_cron_run" (home, revision);
ALTER TABLE assistant."journal_cron_run" ADD COLUMN IF NOT EXISTS "last_due" bigint;
ALTER TABLE assistant."journal_cron_run" ADD COLUMN IF NOT EXISTS "count" bigint;
ALTER TABLE assistant."journal_cron_run" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_cron_run" ADD COLUMN IF NOT EXISTS "inbound_id" text COLLATE "C";
ALTER TABLE assistant."journal_cron_run" ADD COLUMN IF NOT EXISTS "outbound_id" text COLLATE "C";
ALTER TABLE assistant."journal_cron_run" ADD COLUMN IF NOT EXISTS "reason" text COLLATE "C";
ALTER TABLE assistant."journal_cron_run" ADD COLUMN IF NOT EXISTS "late_ms" bigint;
ALTER TABLE assistant."journal_cron_run" ADD COLUMN IF NOT EXISTS "at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_cursors" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "channel" text COLLATE "C" NOT NULL, "place" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "channel", "place"));
CREATE INDEX IF NOT EXISTS "journal_cursors_revision" ON assistant."journal_cursors" (home, revision);
ALTER TABLE assistant."journal_cursors" ADD COLUMN IF NOT EXISTS "last" text COLLATE "C";
ALTER TABLE assistant."journal_cursors" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_dedupe" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "key" bytea NOT NULL, PRIMARY KEY (home, "key"));
CREATE INDEX IF NOT EXISTS "journal_dedupe_revision" ON assistant."journal_dedupe" (home, revision);
ALTER TABLE assistant."journal_dedupe" ADD COLUMN IF NOT EXISTS "at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_ended_logins" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "hash" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "hash"));
CREATE INDEX IF NOT EXISTS "journal_ended_logins_revision" ON assistant."journal_ended_logins" (home, revision);
ALTER TABLE assistant."journal_ended_logins" ADD COLUMN IF NOT EXISTS "until" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_fact_change" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "one" bigint NOT NULL, PRIMARY KEY (home, "one"));
CREATE INDEX IF NOT EXISTS "journal_fact_change_revision" ON assistant."journal_fact_change" (home, revision);
ALTER TABLE assistant."journal_fact_change" ADD COLUMN IF NOT EXISTS "change" text COLLATE "C";
CREATE TABLE IF NOT EXISTS assistant."journal_facts" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "seq" bigint NOT NULL, PRIMARY KEY (home, "seq"));
CREATE INDEX IF NOT EXISTS "journal_facts_revision" ON assistant."journal_facts" (home, revision);
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "fact" text COLLATE "C";
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "how" text COLLATE "C";
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "session" text COLLATE "C";
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "turn" text COLLATE "C";
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "since" bigint;
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "until" bigint;
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "ended_how" text COLLATE "C";
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "ended_session" text COLLATE "C";
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "ended_turn" text COLLATE "C";
ALTER TABLE assistant."journal_facts" ADD COLUMN IF NOT EXISTS "replaced_by" text COLLATE "C";
CREATE TABLE IF NOT EXISTS assistant."journal_heartbeat" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "at" bigint NOT NULL, PRIMARY KEY (home, "at"));
CREATE INDEX IF NOT EXISTS "journal_heartbeat_revision" ON assistant."journal_heartbeat" (home, revision);
ALTER TABLE assistant."journal_heartbeat" ADD COLUMN IF NOT EXISTS "action" text COLLATE "C";
ALTER TABLE assistant."journal_heartbeat" ADD COLUMN IF NOT EXISTS "reason" text COLLATE "C";
ALTER TABLE assistant."journal_heartbeat" ADD COLUMN IF NOT EXISTS "inbound_id" text COLLATE "C";
ALTER TABLE assistant."journal_heartbeat" ADD COLUMN IF NOT EXISTS "told" bigint;
ALTER TABLE assistant."journal_heartbeat" ADD COLUMN IF NOT EXISTS "verdict" text COLLATE "C";
CREATE TABLE IF NOT EXISTS assistant."journal_inbound" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "seq" bigint NOT NULL, PRIMARY KEY (home, "seq"));
CREATE INDEX IF NOT EXISTS "journal_inbound_revision" ON assistant."journal_inbound" (home, revision);
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "id" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "channel" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "account" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "chat" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "external_id" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "session" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "payload" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "role" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "origin" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "reason" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "turn_id" text COLLATE "C";
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "received_at" bigint;
ALTER TABLE assistant."journal_inbound" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_opened" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "id" bigint NOT NULL, PRIMARY KEY (home, "id"));
CREATE INDEX IF NOT EXISTS "journal_opened_revision" ON assistant."journal_opened" (home, revision);
ALTER TABLE assistant."journal_opened" ADD COLUMN IF NOT EXISTS "boot" text COLLATE "C";
ALTER TABLE assistant."journal_opened" ADD COLUMN IF NOT EXISTS "lost" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_outbound" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "seq" bigint NOT NULL, PRIMARY KEY (home, "seq"));
CREATE INDEX IF NOT EXISTS "journal_outbound_revision" ON assistant."journal_outbound" (home, revision);
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "id" text COLLATE "C";
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "turn_id" text COLLATE "C";
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "channel" text COLLATE "C";
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "chat" text COLLATE "C";
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "kind" text COLLATE "C";
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "payload" text COLLATE "C";
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "reason" text COLLATE "C";
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "attempts" bigint;
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "next_at" bigint;
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "expires_at" bigint;
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "created_at" bigint;
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "owed" bigint;
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "told_by" text COLLATE "C";
ALTER TABLE assistant."journal_outbound" ADD COLUMN IF NOT EXISTS "doubt" text COLLATE "C";
CREATE TABLE IF NOT EXISTS assistant."journal_owner_chats" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "channel" text COLLATE "C" NOT NULL, "chat" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "channel", "chat"));
CREATE INDEX IF NOT EXISTS "journal_owner_chats_revision" ON assistant."journal_owner_chats" (home, revision);
ALTER TABLE assistant."journal_owner_chats" ADD COLUMN IF NOT EXISTS "direct" bigint;
ALTER TABLE assistant."journal_owner_chats" ADD COLUMN IF NOT EXISTS "payload" text COLLATE "C";
ALTER TABLE assistant."journal_owner_chats" ADD COLUMN IF NOT EXISTS "seq" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_pairing" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "channel" text COLLATE "C" NOT NULL, "user_id" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "channel", "user_id"));
CREATE INDEX IF NOT EXISTS "journal_pairing_revision" ON assistant."journal_pairing" (home, revision);
ALTER TABLE assistant."journal_pairing" ADD COLUMN IF NOT EXISTS "chat" text COLLATE "C";
ALTER TABLE assistant."journal_pairing" ADD COLUMN IF NOT EXISTS "name" text COLLATE "C";
ALTER TABLE assistant."journal_pairing" ADD COLUMN IF NOT EXISTS "code" text COLLATE "C";
ALTER TABLE assistant."journal_pairing" ADD COLUMN IF NOT EXISTS "created_at" bigint;
ALTER TABLE assistant."journal_pairing" ADD COLUMN IF NOT EXISTS "expires_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_pairing_tries" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "one" bigint NOT NULL, PRIMARY KEY (home, "one"));
CREATE INDEX IF NOT EXISTS "journal_pairing_tries_revision" ON assistant."journal_pairing_tries" (home, revision);
ALTER TABLE assistant."journal_pairing_tries" ADD COLUMN IF NOT EXISTS "wrong" bigint;
ALTER TABLE assistant."journal_pairing_tries" ADD COLUMN IF NOT EXISTS "since" bigint;
ALTER TABLE assistant."journal_pairing_tries" ADD COLUMN IF NOT EXISTS "locked_until" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_parts" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "outbound_id" text COLLATE "C" NOT NULL, "n" bigint NOT NULL, PRIMARY KEY (home, "outbound_id", "n"));
CREATE INDEX IF NOT EXISTS "journal_parts_revision" ON assistant."journal_parts" (home, revision);
ALTER TABLE assistant."journal_parts" ADD COLUMN IF NOT EXISTS "text" text COLLATE "C";
ALTER TABLE assistant."journal_parts" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_parts" ADD COLUMN IF NOT EXISTS "platform_id" text COLLATE "C";
ALTER TABLE assistant."journal_parts" ADD COLUMN IF NOT EXISTS "nonce" text COLLATE "C";
ALTER TABLE assistant."journal_parts" ADD COLUMN IF NOT EXISTS "resends" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_passed_over" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "key" bytea NOT NULL, PRIMARY KEY (home, "key"));
CREATE INDEX IF NOT EXISTS "journal_passed_over_revision" ON assistant."journal_passed_over" (home, revision);
ALTER TABLE assistant."journal_passed_over" ADD COLUMN IF NOT EXISTS "reason" text COLLATE "C";
ALTER TABLE assistant."journal_passed_over" ADD COLUMN IF NOT EXISTS "at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_people" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "channel" text COLLATE "C" NOT NULL, "user_id" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "channel", "user_id"));
CREATE INDEX IF NOT EXISTS "journal_people_revision" ON assistant."journal_people" (home, revision);
ALTER TABLE assistant."journal_people" ADD COLUMN IF NOT EXISTS "role" text COLLATE "C";
ALTER TABLE assistant."journal_people" ADD COLUMN IF NOT EXISTS "name" text COLLATE "C";
ALTER TABLE assistant."journal_people" ADD COLUMN IF NOT EXISTS "added_at" bigint;
ALTER TABLE assistant."journal_people" ADD COLUMN IF NOT EXISTS "added_by" text COLLATE "C";
CREATE TABLE IF NOT EXISTS assistant."journal_questions" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "call_id" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "call_id"));
CREATE INDEX IF NOT EXISTS "journal_questions_revision" ON assistant."journal_questions" (home, revision);
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "kind" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "code" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "session" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "turn" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "channel" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "chat" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "thread" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "person" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "own" bigint;
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "choices" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "hash" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "request" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "answer" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "answered_by" text COLLATE "C";
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "deadline" bigint;
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "created_at" bigint;
ALTER TABLE assistant."journal_questions" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_reactions" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "seq" bigint NOT NULL, PRIMARY KEY (home, "seq"));
CREATE INDEX IF NOT EXISTS "journal_reactions_revision" ON assistant."journal_reactions" (home, revision);
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "channel" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "chat" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "message" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "person" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "emoji" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "session" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "outbound" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "name" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "role" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "stands" bigint;
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "told_by" text COLLATE "C";
ALTER TABLE assistant."journal_reactions" ADD COLUMN IF NOT EXISTS "at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_session_busy" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "session" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "session"));
CREATE INDEX IF NOT EXISTS "journal_session_busy_revision" ON assistant."journal_session_busy" (home, revision);
ALTER TABLE assistant."journal_session_busy" ADD COLUMN IF NOT EXISTS "mode" text COLLATE "C";
ALTER TABLE assistant."journal_session_busy" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_session_models" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "session" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "session"));
CREATE INDEX IF NOT EXISTS "journal_session_models_revision" ON assistant."journal_session_models" (home, revision);
ALTER TABLE assistant."journal_session_models" ADD COLUMN IF NOT EXISTS "model" text COLLATE "C";
ALTER TABLE assistant."journal_session_models" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_shown_reactions" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "inbound" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "inbound"));
CREATE INDEX IF NOT EXISTS "journal_shown_reactions_revision" ON assistant."journal_shown_reactions" (home, revision);
ALTER TABLE assistant."journal_shown_reactions" ADD COLUMN IF NOT EXISTS "channel" text COLLATE "C";
ALTER TABLE assistant."journal_shown_reactions" ADD COLUMN IF NOT EXISTS "chat" text COLLATE "C";
ALTER TABLE assistant."journal_shown_reactions" ADD COLUMN IF NOT EXISTS "thread" text COLLATE "C";
ALTER TABLE assistant."journal_shown_reactions" ADD COLUMN IF NOT EXISTS "message" text COLLATE "C";
ALTER TABLE assistant."journal_shown_reactions" ADD COLUMN IF NOT EXISTS "emojis" text COLLATE "C";
ALTER TABLE assistant."journal_shown_reactions" ADD COLUMN IF NOT EXISTS "at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_starts" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "rowid" bigint NOT NULL, PRIMARY KEY (home, "rowid"));
CREATE INDEX IF NOT EXISTS "journal_starts_revision" ON assistant."journal_starts" (home, revision);
ALTER TABLE assistant."journal_starts" ADD COLUMN IF NOT EXISTS "at" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_swept" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "id" bigint NOT NULL, PRIMARY KEY (home, "id"));
CREATE INDEX IF NOT EXISTS "journal_swept_revision" ON assistant."journal_swept" (home, revision);
ALTER TABLE assistant."journal_swept" ADD COLUMN IF NOT EXISTS "report" text COLLATE "C";
CREATE TABLE IF NOT EXISTS assistant."journal_turns" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "id" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "id"));
CREATE INDEX IF NOT EXISTS "journal_turns_revision" ON assistant."journal_turns" (home, revision);
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "session" text COLLATE "C";
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "parent" text COLLATE "C";
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "role" text COLLATE "C";
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "state" text COLLATE "C";
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "attempts" bigint;
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "outcome" text COLLATE "C";
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "started_at" bigint;
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "updated_at" bigint;
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "progress" bigint;
ALTER TABLE assistant."journal_turns" ADD COLUMN IF NOT EXISTS "resumed" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_usage" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "rowid" bigint NOT NULL, PRIMARY KEY (home, "rowid"));
CREATE INDEX IF NOT EXISTS "journal_usage_revision" ON assistant."journal_usage" (home, revision);
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "turn_id" text COLLATE "C";
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "session" text COLLATE "C";
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "source" text COLLATE "C";
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "provider" text COLLATE "C";
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "model" text COLLATE "C";
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "input" bigint;
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "cached" bigint;
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "cache_write" bigint;
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "output" bigint;
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "reasoning" bigint;
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "cost_usd" double precision;
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "at" bigint;
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "span" text COLLATE "C";
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "calls" bigint;
ALTER TABLE assistant."journal_usage" ADD COLUMN IF NOT EXISTS "unpriced" bigint;
CREATE TABLE IF NOT EXISTS assistant."journal_usage_total" (home text COLLATE "C" NOT NULL, revision bigint NOT NULL, "session" text COLLATE "C" NOT NULL, PRIMARY KEY (home, "session"));
CREATE INDEX IF NOT EXISTS "journal_usage_total_revision" ON assistant."journal_usage_total" (home, revision);
ALTER TABLE assistant."journal_usage_total" ADD COLUMN IF NOT EXISTS "calls" bigint;
ALTER TABLE assistant."journal_usage_total" ADD COLUMN IF NOT EXISTS "input" bigint;
ALTER TABLE assistant."journal_usage_total" ADD COLUMN IF NOT EXISTS "cached" bigint;
ALTER TABLE assistant."journal_usage_total" ADD COLUMN IF NOT EXISTS "cache_write" bigint;
ALTER TABLE assistant."journal_usage_total" ADD COLUMN IF NOT EXISTS "output" bigint;
ALTER TABLE assistant."journal_usage_total" ADD COLUMN IF NOT EXISTS "reasoning" bigint;
ALTER TABLE assistant."journal_usage_total" ADD COLUMN IF NOT EXISTS "cost" double precision;
ALTER TABLE assistant."journal_usage_total" ADD COLUMN IF NOT EXISTS "unpriced" bigint;
