import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TABLES } from '../support/extensions.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { journalTexts } from '../../src/core/journal/texts.ts';
import { openDatabase } from '../../src/core/storage/open-database.ts';
import { tempFolder } from '../support/temp.ts';

/** Columns with ids, names, states and numbers as text: nothing that anybody said. */
const NO_PROSE: Readonly<Record<string, string>> = {
  inbound: 'id channel account chat external_id session role origin state turn_id',
  turns: 'id session parent role state outcome',
  outbound: 'id turn_id channel chat kind state told_by doubt',
  parts: 'outbound_id state platform_id nonce',
  usage: 'turn_id session source provider model span',
  usage_total: 'session',
  usage_estimates: 'session',
  session_models: 'session model',
  session_busy: 'session mode',
  archives: 'id session reason role up_to state',
  approvals: 'call_id code session channel chat thread state answered_by turn hash',
  allowances: 'id hash program folder created_by',
  free_choices: 'call_id chat',
  asks: 'call_id code session turn channel chat thread person state',
  questions: 'call_id kind code session turn channel chat thread person hash state answered_by',
  reactions: 'channel chat emoji message name outbound person role session told_by',
  shown_reactions: 'channel chat emojis inbound message thread',
  people: 'channel user_id role name added_by',
  pairing: 'channel user_id chat name code',
  // A job is the owner's own, and says what it does in their words: `assistant cron remove` removes it.
  cron_job: 'id hash definition role creator state',
  cron_run: 'job state inbound_id outbound_id',
  cron_pruned: 'job',
  heartbeat: 'action inbound_id',
  cursors: 'channel place last',
  home_files: 'path',
  // Names of files, as undo copies have them.
  landings: 'id session turn call_id undoes state steps paths begun_ns done_ns',
  marks: 'path author',
  model_facts: 'model name value',
  opened: 'boot',
  owner_chats: 'channel chat',
  channel_states: 'channel state',
  ended_logins: 'hash',
  swept: 'report',
  schema_parts: 'name',
  facts: 'how session turn ended_how ended_session ended_turn',
};

test('each text column of the journal is either forgotten or holds nothing that anybody said', async () => {
  await using folder = await tempFolder();
  const path = join(folder.path, 'state.db');
  (await openDatabase({ path, migrations: journalMigrations, parts: TABLES, backupPath: null })).close();
  using db = new DatabaseSync(path);
  const columns = db
    .prepare(
      `SELECT t.name AS "table", c.name AS "column" FROM sqlite_master t, pragma_table_info(t.name) c
       WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.type = 'TEXT'`,
    )
    .all()
    .map(({ table, column }) => `${String(table)}.${String(column)}`);
  const known = [
    ...Object.entries(journalTexts(TABLES)).flatMap(([table, names]) => names.map((name) => `${table}.${name}`)),
    ...Object.entries(NO_PROSE).flatMap(([table, names]) => names.split(' ').map((name) => `${table}.${name}`)),
  ];
  expect(columns.toSorted()).toEqual(known.toSorted());
});
