import { added } from '../../storage/open-database.ts';

/**
 * Migration: people's reactions to messages of the assistant (`Reactions`), and the reactions of the assistant that may
 * still stand on messages of people (`ShownReactions`).
 */
export const reactionTables = added(`
  CREATE TABLE reactions (
    seq      INTEGER PRIMARY KEY AUTOINCREMENT,
    channel  TEXT NOT NULL,
    chat     TEXT NOT NULL,
    message  TEXT NOT NULL,
    person   TEXT NOT NULL,
    emoji    TEXT NOT NULL,
    session  TEXT NOT NULL,
    outbound TEXT NOT NULL,
    name     TEXT,
    role     TEXT NOT NULL,
    stands   INTEGER NOT NULL,
    told_by  TEXT,
    at       INTEGER NOT NULL,
    UNIQUE (channel, chat, message, person, emoji)
  ) STRICT;
  CREATE INDEX reactions_session ON reactions (session, told_by);
  CREATE INDEX reactions_told ON reactions (told_by) WHERE told_by IS NOT NULL;
  CREATE INDEX reactions_age ON reactions (at);

  CREATE TABLE shown_reactions (
    inbound TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    chat    TEXT NOT NULL,
    thread  TEXT,
    message TEXT NOT NULL,
    emojis  TEXT NOT NULL,
    at      INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX shown_reactions_channel ON shown_reactions (channel);
  CREATE INDEX shown_reactions_age ON shown_reactions (at);
`);
