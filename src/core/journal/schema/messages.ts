import { added, changed } from '../../storage/open-database.ts';

/** Migration: the life of a message: inbox, turns, outbox with its parts, and what model calls used. */
export const messageTables = changed(`
  CREATE TABLE inbound (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT NOT NULL UNIQUE,
    channel     TEXT NOT NULL,
    account     TEXT NOT NULL,
    chat        TEXT NOT NULL,
    external_id TEXT NOT NULL,
    session     TEXT NOT NULL,
    payload     TEXT,
    role        TEXT NOT NULL,
    origin      TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('accepted', 'running', 'done', 'refused', 'dead')),
    reason      TEXT,
    turn_id     TEXT,
    received_at INTEGER NOT NULL,
    updated_at  INTEGER NOT NULL,
    UNIQUE (channel, account, chat, external_id)
  ) STRICT;
  CREATE INDEX inbound_accepted ON inbound (seq) WHERE state = 'accepted';
  CREATE INDEX inbound_waiting ON inbound (session, seq) WHERE state = 'accepted';
  CREATE INDEX inbound_waiting_chat ON inbound (channel, chat) WHERE state = 'accepted';
  CREATE INDEX inbound_turn ON inbound (turn_id) WHERE turn_id IS NOT NULL;

  CREATE TABLE turns (
    id         TEXT PRIMARY KEY,
    session    TEXT NOT NULL,
    parent     TEXT,
    role       TEXT NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('running', 'stopping', 'done', 'dead')),
    attempts   INTEGER NOT NULL,
    outcome    TEXT,
    started_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX turns_open ON turns (session) WHERE state IN ('running', 'stopping');

  CREATE TABLE outbound (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    id         TEXT NOT NULL UNIQUE,
    turn_id    TEXT,
    channel    TEXT NOT NULL,
    chat       TEXT NOT NULL,
    kind       TEXT NOT NULL,
    payload    TEXT,
    state      TEXT NOT NULL CHECK (state IN
                 ('streaming', 'pending', 'sending', 'delivered', 'uncertain', 'dead', 'expired')),
    reason     TEXT,
    attempts   INTEGER NOT NULL DEFAULT 0,
    next_at    INTEGER NOT NULL DEFAULT 0,
    expires_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX outbound_open ON outbound (seq) WHERE state IN ('pending', 'sending', 'uncertain');
  CREATE INDEX outbound_turn ON outbound (turn_id) WHERE turn_id IS NOT NULL;

  CREATE TABLE parts (
    outbound_id TEXT NOT NULL REFERENCES outbound (id) ON DELETE CASCADE,
    n           INTEGER NOT NULL,
    text        TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('pending', 'sending', 'delivered', 'uncertain', 'dead')),
    platform_id TEXT,
    nonce       TEXT NOT NULL,
    resends     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (outbound_id, n)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE usage (
    turn_id     TEXT,
    session     TEXT NOT NULL,
    source      TEXT NOT NULL,
    provider    TEXT NOT NULL,
    model       TEXT NOT NULL,
    input       INTEGER NOT NULL,
    cached      INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    output      INTEGER NOT NULL,
    reasoning   INTEGER NOT NULL,
    cost_usd    REAL,
    at          INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX usage_at ON usage (at);
  CREATE INDEX usage_session ON usage (session, at);
`);

/** Migration: messages that could not be delivered, until the chat is told of them. */
export const owedMessages = added(`
  ALTER TABLE outbound ADD COLUMN owed INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE outbound ADD COLUMN told_by TEXT;
  CREATE INDEX outbound_owed ON outbound (channel, chat) WHERE owed > 0;
  CREATE INDEX outbound_untold ON outbound (owed, seq) WHERE owed > 0;
  CREATE INDEX outbound_told ON outbound (told_by) WHERE told_by IS NOT NULL;
`);

/** Migration: how far a turn came before it was resumed, and the starts of the program. */
export const turnProgress = added(`
  ALTER TABLE turns ADD COLUMN progress INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE turns ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;
  CREATE TABLE starts (at INTEGER NOT NULL) STRICT;
`);

/** Migration: what a power loss may have taken back. */
export const afterPowerLoss = added(`
  ALTER TABLE opened ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;
  ALTER TABLE outbound ADD COLUMN doubt TEXT CHECK (doubt IN ('oldest', 'later'));
`);

/** Migration: conversations that are not kept are found by their age. */
export const ephemeralAge = added(`
  CREATE INDEX inbound_ephemeral_age ON inbound (updated_at)
    WHERE payload IS NOT NULL AND state IN ('done', 'refused', 'dead')
      AND session >= 'ephemeral:' AND session < 'ephemeral;';
`);

/** Migration: what was said in a conversation, by time. */
export const saidIndexes = added(`
  CREATE INDEX inbound_said ON inbound (session, received_at) WHERE payload IS NOT NULL;
  CREATE INDEX outbound_said ON outbound (channel, chat, created_at) WHERE payload IS NOT NULL;
`);
