import { added } from '../storage/open-database.ts';

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
