import { added, changed, type Migration } from '../storage/open-database.ts';
import { channelLogTables } from './channel-log-schema.ts';
import { questionsTable } from './questions-schema.ts';
import { reactionTables } from './reactions-schema.ts';
import { retentionTables } from './retention-schema.ts';

/** The journal's tables. A migration, once released, is never edited: add the next one. */
export const journalMigrations: readonly Migration[] = [
  changed(`
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
  `),
  added(`
      CREATE INDEX turns_session ON turns (session, id);

      CREATE TABLE session_models (
        session    TEXT PRIMARY KEY,
        model      TEXT NOT NULL,
        updated_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
  `),
  added(`
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
  `),
  added(`
      CREATE TABLE approvals (
        call_id     TEXT PRIMARY KEY,
        code        TEXT NOT NULL UNIQUE,
        session     TEXT NOT NULL,
        channel     TEXT NOT NULL,
        chat        TEXT NOT NULL,
        thread      TEXT,
        state       TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'denied', 'expired', 'cancelled')),
        reason      TEXT,
        answered_by TEXT,
        deadline    INTEGER NOT NULL,
        created_at  INTEGER NOT NULL,
        updated_at  INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX approvals_waiting ON approvals (channel, chat) WHERE state = 'waiting';
  `),
  added(`
      CREATE TABLE people (
        channel  TEXT NOT NULL,
        user_id  TEXT NOT NULL,
        role     TEXT NOT NULL CHECK (role = 'trusted'),
        name     TEXT,
        added_at INTEGER NOT NULL,
        added_by TEXT NOT NULL,
        PRIMARY KEY (channel, user_id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE pairing (
        channel    TEXT NOT NULL,
        user_id    TEXT NOT NULL,
        chat       TEXT NOT NULL,
        name       TEXT,
        code       TEXT NOT NULL UNIQUE,
        created_at INTEGER NOT NULL,
        expires_at INTEGER NOT NULL,
        PRIMARY KEY (channel, user_id)
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE pairing_tries (
        one          INTEGER PRIMARY KEY CHECK (one = 1),
        wrong        INTEGER NOT NULL,
        since        INTEGER NOT NULL,
        locked_until INTEGER NOT NULL
      ) STRICT;
  `),
  added(`
      ALTER TABLE approvals ADD COLUMN turn TEXT;
      ALTER TABLE approvals ADD COLUMN hash TEXT NOT NULL DEFAULT '';
      ALTER TABLE approvals ADD COLUMN request TEXT NOT NULL DEFAULT '{}';
      CREATE INDEX approvals_session ON approvals (session) WHERE state = 'waiting';
      CREATE INDEX approvals_turn ON approvals (turn) WHERE state = 'waiting';

      CREATE TABLE allowances (
        id         TEXT PRIMARY KEY,
        hash       TEXT NOT NULL UNIQUE,
        program    TEXT NOT NULL,
        folder     TEXT NOT NULL,
        created_by TEXT NOT NULL,
        created_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
  `),
  added(`
      CREATE TABLE asks (
        call_id    TEXT PRIMARY KEY,
        code       TEXT NOT NULL UNIQUE,
        session    TEXT NOT NULL,
        turn       TEXT NOT NULL,
        channel    TEXT NOT NULL,
        chat       TEXT NOT NULL,
        thread     TEXT,
        person     TEXT NOT NULL,
        choices    TEXT NOT NULL,
        state      TEXT NOT NULL CHECK (state IN ('waiting', 'answered', 'expired', 'cancelled')),
        answer     TEXT,
        deadline   INTEGER NOT NULL,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX asks_waiting ON asks (channel, chat) WHERE state = 'waiting';
      CREATE INDEX asks_session ON asks (session) WHERE state = 'waiting';
      CREATE INDEX asks_turn ON asks (turn) WHERE state = 'waiting';
  `),
  added(`
      CREATE TABLE cron_job (
        id         TEXT PRIMARY KEY,
        hash       TEXT NOT NULL,
        definition TEXT NOT NULL,
        role       TEXT NOT NULL,
        creator    TEXT NOT NULL,
        enabled    INTEGER NOT NULL,
        settled    INTEGER NOT NULL,
        since      INTEGER NOT NULL,
        state      TEXT NOT NULL CHECK (state IN ('active', 'over', 'removed')),
        updated_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;

      CREATE TABLE cron_run (
        job         TEXT NOT NULL,
        due_at      INTEGER NOT NULL,
        last_due    INTEGER NOT NULL,
        count       INTEGER NOT NULL,
        state       TEXT NOT NULL CHECK (state IN ('claimed', 'missed', 'skipped')),
        inbound_id  TEXT,
        outbound_id TEXT,
        reason      TEXT,
        late_ms     INTEGER NOT NULL,
        at          INTEGER NOT NULL,
        PRIMARY KEY (job, due_at)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX cron_run_inbound ON cron_run (inbound_id) WHERE inbound_id IS NOT NULL;

      CREATE TABLE heartbeat (
        at     INTEGER PRIMARY KEY,
        action TEXT NOT NULL CHECK (action IN ('skip', 'run', 'failed')),
        reason TEXT NOT NULL
      ) STRICT;
  `),
  changed(`
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
  `),
  added(`
      CREATE TABLE cursors (
        channel    TEXT NOT NULL,
        place      TEXT NOT NULL,
        last       TEXT NOT NULL,
        updated_at INTEGER NOT NULL,
        PRIMARY KEY (channel, place)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX cursors_used ON cursors (channel, updated_at);
  `),
  added(`
      CREATE TABLE opened (
        id   INTEGER PRIMARY KEY CHECK (id = 1),
        boot TEXT
      ) STRICT;
  `),
  changed(`
      ALTER TABLE people RENAME TO people_before;
      CREATE TABLE people (
        channel  TEXT NOT NULL,
        user_id  TEXT NOT NULL,
        role     TEXT NOT NULL CHECK (role IN ('owner', 'trusted')),
        name     TEXT,
        added_at INTEGER NOT NULL,
        added_by TEXT NOT NULL,
        PRIMARY KEY (channel, user_id)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO people SELECT * FROM people_before;
      DROP TABLE people_before;
  `),
  added(`
      ALTER TABLE outbound ADD COLUMN owed INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE outbound ADD COLUMN told_by TEXT;
      CREATE INDEX outbound_owed ON outbound (channel, chat) WHERE owed > 0;
      CREATE INDEX outbound_untold ON outbound (owed, seq) WHERE owed > 0;
      CREATE INDEX outbound_told ON outbound (told_by) WHERE told_by IS NOT NULL;
  `),
  questionsTable,
  added(`
      ALTER TABLE turns ADD COLUMN progress INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE turns ADD COLUMN resumed INTEGER NOT NULL DEFAULT 0;
      CREATE TABLE starts (at INTEGER NOT NULL) STRICT;
  `),
  retentionTables,
  added(`
      ALTER TABLE opened ADD COLUMN lost INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE outbound ADD COLUMN doubt TEXT CHECK (doubt IN ('oldest', 'later'));
  `),
  changed(`
      ALTER TABLE people RENAME TO people_before;
      CREATE TABLE people (
        channel  TEXT NOT NULL,
        user_id  TEXT NOT NULL,
        role     TEXT NOT NULL CHECK (role IN ('owner', 'trusted', 'guest')),
        name     TEXT,
        added_at INTEGER NOT NULL,
        added_by TEXT NOT NULL,
        PRIMARY KEY (channel, user_id)
      ) STRICT, WITHOUT ROWID;
      INSERT INTO people SELECT * FROM people_before;
      DROP TABLE people_before;
  `),
  added(`
      CREATE INDEX inbound_ephemeral_age ON inbound (updated_at)
        WHERE payload IS NOT NULL AND state IN ('done', 'refused', 'dead')
          AND session >= 'ephemeral:' AND session < 'ephemeral;';
  `),
  added(`
      CREATE INDEX inbound_said ON inbound (session, received_at) WHERE payload IS NOT NULL;
      CREATE INDEX outbound_said ON outbound (channel, chat, created_at) WHERE payload IS NOT NULL;
  `),
  added(`
      CREATE TABLE ended_logins (
        hash  TEXT PRIMARY KEY,
        until INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
  `),
  channelLogTables,
  added(`
      CREATE TABLE session_busy (
        session    TEXT PRIMARY KEY,
        mode       TEXT NOT NULL,
        updated_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
  `),
  reactionTables,
];
