import { added, type Migration } from '../storage/open-database.ts';
import { firstHeartbeatTable, heartbeatTable } from './schema/automation.ts';
import { channelLogTables } from './schema/channel-log.ts';
import { markTable } from './schema/files.ts';
import { landingsTable } from './schema/landings.ts';
import { archiveTable, factTables } from './schema/memory.ts';
import {
  afterPowerLoss,
  ephemeralAge,
  messageTables,
  owedMessages,
  saidIndexes,
  turnProgress,
} from './schema/messages.ts';
import { endedLogins, ownersByCode, pairedGuests, peopleTables } from './schema/people.ts';
import { allowanceTables, approvalTable, askTable, freeChoicesTable, questionsTable } from './schema/questions.ts';
import { reactionTables } from './schema/reactions.ts';
import { estimatedUsage, retentionTables } from './schema/retention.ts';

/**
 * The journal's tables, by the steps that made them; each subject has its steps in a file of `schema/`. A migration, once released, is
 * never edited: add the next one at the end.
 */
export const journalMigrations: readonly Migration[] = [
  messageTables,
  added(`
      CREATE INDEX turns_session ON turns (session, id);

      CREATE TABLE session_models (
        session    TEXT PRIMARY KEY,
        model      TEXT NOT NULL,
        updated_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
  `),
  archiveTable,
  approvalTable,
  peopleTables,
  allowanceTables,
  askTable,
  firstHeartbeatTable,
  heartbeatTable,
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
  ownersByCode,
  owedMessages,
  questionsTable,
  turnProgress,
  retentionTables,
  afterPowerLoss,
  pairedGuests,
  ephemeralAge,
  saidIndexes,
  endedLogins,
  channelLogTables,
  added(`
      CREATE TABLE session_busy (
        session    TEXT PRIMARY KEY,
        mode       TEXT NOT NULL,
        updated_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
  `),
  reactionTables,
  factTables,
  estimatedUsage,
  added(`
      CREATE TABLE home_files (
        path    TEXT PRIMARY KEY,
        bytes   INTEGER NOT NULL,
        seen_at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
  `),

  added(`
      CREATE TABLE model_facts (
        model      TEXT NOT NULL,
        name       TEXT NOT NULL,
        value      TEXT NOT NULL,
        learned_at INTEGER NOT NULL,
        PRIMARY KEY (model, name)
      ) STRICT, WITHOUT ROWID;
  `),
  markTable,
  landingsTable,
  freeChoicesTable,
];
