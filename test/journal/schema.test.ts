import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { readAnswer } from '../../src/core/agent/questions/answers.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { questionsTable } from '../../src/core/journal/schema/questions.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { openDatabase, type Migration } from '../../src/core/storage/open-database.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { inboundMessage } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';

const KNOWN = journalMigrations.length;
const LATER: Migration = { additive: true, sql: 'CREATE TABLE later (n INTEGER) STRICT' };
const LATER_TOO: Migration = { additive: true, sql: 'ALTER TABLE people ADD COLUMN later TEXT' };
const OTHER: Migration = { additive: false, sql: 'ALTER TABLE people RENAME TO persons' };

const write = (path: string, migrations: readonly Migration[]): Promise<DatabaseSync> =>
  openDatabase({ path, migrations, backupPath: null });

const open = (path: string, backupPath: ((from: number) => string) | null = null): Promise<Journal> =>
  openJournal({
    path,
    backupPath,
    clock: systemClock,
    newId: createIds(systemClock, systemRandom),
    interpret: readAnswer,
  });

describe('a journal that a newer program wrote', () => {
  test('is used as it is when all that was added is nothing that this program has to know', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'state.db');
    (await write(path, [...journalMigrations, LATER, LATER_TOO])).close();
    const backup = join(folder.path, 'backup.db');
    {
      using journal = await open(path, () => backup);
      await journal.inbox.accept([inboundMessage({ id: 'kept' })]);
    }
    expect(existsSync(backup)).toBe(false);
    // The newer program finds its schema where it left it, and what the older one wrote.
    const db = await write(path, [...journalMigrations, LATER, LATER_TOO]);
    expect(db.prepare('PRAGMA user_version').get()).toEqual({ user_version: KNOWN + 2 });
    expect(db.prepare('SELECT id FROM inbound').all()).toEqual([{ id: 'kept' }]);
    expect(db.prepare('SELECT * FROM later').all()).toEqual([]);
    db.close();
  });

  test.each([
    ['changed something', [OTHER], KNOWN + 1],
    ['changed something and then added something', [OTHER, LATER], KNOWN + 1],
    ['added something and then changed something', [LATER, OTHER], KNOWN + 2],
  ])('is refused with a sentence, and left alone, when it %s', async (_, steps, oldest) => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'state.db');
    (await write(path, [...journalMigrations, ...steps])).close();
    await expect(open(path)).rejects.toThrow(
      `was written by a newer version (schema ${KNOWN + steps.length}, for programs that know ${oldest}; this one knows ${KNOWN}). Use a newer version, or restore a backup.`,
    );
    const db = await write(path, [...journalMigrations, ...steps]);
    expect(db.prepare('SELECT count(*) AS n FROM persons').get()).toEqual({ n: 0 });
    db.close();
  });

  test('is refused when it does not say who may read it', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'state.db');
    const db = await write(path, [...journalMigrations, LATER]);
    db.exec('DROP TABLE schema_reader');
    db.close();
    await expect(open(path)).rejects.toThrow(`for programs that know ${KNOWN + 1};`);
  });
});

describe('questions of a journal that had two tables of them', () => {
  const BEFORE = journalMigrations.slice(0, journalMigrations.indexOf(questionsTable));

  async function older(path: string): Promise<void> {
    const db = await write(path, BEFORE);
    const approval = db.prepare(
      `INSERT INTO approvals (call_id, code, session, channel, chat, thread, state, reason, answered_by, deadline,
         created_at, updated_at, turn, hash, request)
       VALUES (?, ?, 'telegram:42', 'telegram', '42', NULL, ?, ?, ?, 9e12, ?, 1, 't', 'h', '{"title":"Run","detail":"ls","reason":"So."}')`,
    );
    const now = Date.now();
    approval.run('t.1', 'aaaaaaaa', 'waiting', null, null, now);
    approval.run('t.2', 'bbbbbbbb', 'approved', '', 'telegram:42', now);
    const ask = db.prepare(
      `INSERT INTO asks VALUES (?, ?, 'telegram:42', 't', 'telegram', '42', ?, '42', '["red","green"]', ?, ?, 9e12, ?, 1)`,
    );
    ask.run('t.3', 'cccccccc', '7', 'waiting', null, now + 1);
    // One code for two questions of the two tables was possible.
    ask.run('t.4', 'bbbbbbbb', null, 'answered', 'red', now);
    db.close();
  }

  test('are all there, and what waited is closed with a notice in its chat', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'state.db');
    await older(path);
    using journal = await open(path);
    expect(journal.questions.get('t.1')).toMatchObject({ kind: 'approval', state: 'cancelled', hash: 'h' });
    expect(journal.questions.get('t.2')).toMatchObject({ state: 'approved', answeredBy: 'telegram:42' });
    expect(journal.questions.get('t.3')).toMatchObject({ kind: 'ask', state: 'cancelled', person: '42' });
    expect(journal.questions.get('t.4')).toBeUndefined();
    const notices = journal.outbox.page(0, 10).map(({ message }) => message);
    expect(notices).toMatchObject([
      { id: 't.1:closed', channel: 'telegram', chatId: '42', kind: 'notice', media: [], metadata: {} },
      { id: 't.3:closed', threadId: '7' },
    ]);
    expect(notices[0]).not.toHaveProperty('threadId');
    expect(notices[0]?.text).toBe(
      'I was updated while a question waited here (aaaaaaaa), so I closed it and did nothing about it. Please tell me again what you want.',
    );
  });

  test.each([
    ['approve:aaaaaaaa', 'That question is closed already (cancelled).'],
    ['deny:bbbbbbbb', 'That question is closed already (approved).'],
    ['ask:cccccccc:0', 'That question is closed already (cancelled).'],
  ])('have buttons that say so: %s', async (id, reply) => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'state.db');
    await older(path);
    using journal = await open(path);
    const person = { chatId: '42', sender: { id: '42', isBot: false } };
    await journal.inbox.accept([inboundMessage({ ...person, text: '', action: { id, value: '' } })]);
    expect(journal.outbox.page(0, 10).at(-1)?.message.text).toBe(reply);
    expect(journal.inbox.counts()).toEqual({});
  });

  test('are still there for the older program, where nothing waits any more', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'state.db');
    await older(path);
    (await write(path, [...BEFORE, questionsTable])).close();
    const db = await write(path, BEFORE);
    const states = db.prepare('SELECT state FROM approvals UNION ALL SELECT state FROM asks').all();
    expect(states.map((row) => row['state'])).toEqual(['cancelled', 'approved', 'cancelled', 'answered']);
    db.close();
  });
});
