import { added, changed } from '../../storage/open-database.ts';

/** Migration: paired people and pairing codes. */
export const peopleTables = added(`
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
`);

/** Migration: a code can make an owner. */
export const ownersByCode = changed(`
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
`);

/** Migration: a code can make a guest. */
export const pairedGuests = changed(`
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
`);

/** Migration: logins of the page that were ended before their time. */
export const endedLogins = added(`
  CREATE TABLE ended_logins (
    hash  TEXT PRIMARY KEY,
    until INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`);
