import { added } from '../../storage/open-database.ts';

/** Migration: approvals. */
export const approvalTable = added(`
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
`);

/** Migration: what an approval shows, and the commands that an owner allowed for good. */
export const allowanceTables = added(`
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
`);

/** Migration: questions of `ask_user`. */
export const askTable = added(`
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
`);

/**
 * Migration: one table `questions` replaces `approvals` and `asks`. The old tables stay for one release, so that an older
 * version can still open the journal. Questions that wait are closed with a notice, because an answer could reach only one
 * of the two versions.
 */
export const questionsTable = added(`
    CREATE TABLE questions (
      call_id     TEXT PRIMARY KEY,
      kind        TEXT NOT NULL CHECK (kind IN ('approval', 'ask')),
      code        TEXT NOT NULL UNIQUE,
      session     TEXT NOT NULL,
      turn        TEXT,
      channel     TEXT NOT NULL,
      chat        TEXT NOT NULL,
      thread      TEXT,
      person      TEXT,
      own         INTEGER NOT NULL,
      choices     TEXT NOT NULL,
      hash        TEXT NOT NULL,
      request     TEXT NOT NULL,
      state       TEXT NOT NULL CHECK (state IN
                    ('waiting', 'approved', 'denied', 'answered', 'expired', 'cancelled')),
      answer      TEXT,
      answered_by TEXT,
      deadline    INTEGER NOT NULL,
      created_at  INTEGER NOT NULL,
      updated_at  INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX questions_waiting ON questions (channel, chat) WHERE state = 'waiting';
    CREATE INDEX questions_session ON questions (session) WHERE state = 'waiting';
    CREATE INDEX questions_turn ON questions (turn) WHERE state = 'waiting';

    INSERT INTO outbound (id, channel, chat, kind, payload, state, expires_at, created_at, updated_at)
      SELECT id, channel, chat, 'notice', json_patch('{}', json_object('id', id, 'channel', channel, 'chatId', chat,
          'threadId', thread, 'kind', 'notice', 'text', 'I was updated while a question waited here ('
            || code || '), so I closed it and did nothing about it. Please tell me again what you want.',
          'media', json_array(), 'expiresAt', created_at + 86400000, 'metadata', json('{}'))),
        'pending', created_at + 86400000, created_at, created_at
      FROM (SELECT call_id || ':closed' AS id, code, channel, chat, thread, created_at FROM approvals
              WHERE state = 'waiting'
            UNION ALL SELECT call_id || ':closed', code, channel, chat, thread, created_at FROM asks
              WHERE state = 'waiting')
      ORDER BY created_at;
    UPDATE approvals SET state = 'cancelled' WHERE state = 'waiting';
    UPDATE asks SET state = 'cancelled' WHERE state = 'waiting';
    INSERT INTO questions
      SELECT call_id, 'approval', code, session, turn, channel, chat, thread, NULL, 0, '[]', hash, request, state,
        reason, answered_by, deadline, created_at, updated_at FROM approvals;
    INSERT OR IGNORE INTO questions
      SELECT call_id, 'ask', code, session, turn, channel, chat, thread, person, 0, choices, '',
        json_object('title', '', 'detail', '', 'reason', ''), state, answer, NULL, deadline, created_at, updated_at
      FROM asks;
`);

/** Migration: fetches and choices that needed no approval, see `FreeChoices`. */
export const freeChoicesTable = added(`
  CREATE TABLE free_choices (
    call_id TEXT PRIMARY KEY,
    chat    TEXT NOT NULL,
    at      INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX free_choices_chat ON free_choices (chat);
  CREATE INDEX free_choices_age ON free_choices (at);
`);
