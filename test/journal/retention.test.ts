import { mkdir, readdir, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/util/clock.ts';
import { CronRuns } from '../../src/extensions/cron/runs.ts';
import { appWith } from '../support/app-with.ts';
import { ORIGINS, PROGRAM, TABLES } from '../support/extensions.ts';
import type { App } from '../../src/core/app.ts';
import { Sweeper } from '../../src/core/stores/sweeper.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { questionId } from '../../src/core/journal/questions.ts';
import { Sessions } from '../../src/core/session/sessions.ts';
import { AuditLog } from '../../src/core/storage/audit-log.ts';
import { ChangeLog } from '../../src/core/storage/change-log.ts';
import { plainDisk } from '../../src/core/storage/disk.ts';
import { UndoLog } from '../../src/core/storage/undo-log.ts';
import { PromptParts } from '../../src/core/storage/prompt-parts.ts';
import { StorageHealth } from '../../src/core/storage/storage-health.ts';
import { vacuumDatabase } from '../../src/core/storage/vacuum.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { inboundMessage } from '../support/inbound.ts';
import { recordingLog } from '../support/recording-log.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

interface Swept extends AsyncDisposable {
  readonly clock: SkippingClock;
  readonly journal: Journal;
  readonly sweeper: Sweeper;
  readonly storage: StorageHealth;
  readonly path: string;
  /** Whether the disk takes writes again when it is probed. */
  healthy: boolean;
  count(table: string): Promise<number>;
}

async function openSwept(): Promise<Swept> {
  const folder = await tempFolder();
  const clock = new SkippingClock();
  const log = recordingLog();
  const paths = homePaths(folder.path);
  const newId = createIds(clock, systemRandom);
  const journal = await openJournal({
    path: paths.state,
    backupPath: null,
    clock,
    newId,
    tables: TABLES,
    origins: ORIGINS,
  });
  const cron = new CronRuns({ ...journal, clock });
  const kinds = { cron: { isOver: (key: string) => !cron.jobs().some(({ id }) => key === `cron:${id}`) } };
  let healthy = true;
  const storage = new StorageHealth({
    journal: 'state.db',
    clock,
    log,
    startedAt: clock.now(),
    probe: async () => {
      if (!healthy) throw Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    },
  });
  const sessions = new Sessions({
    directory: paths.sessions,
    quarantine: paths.quarantine,
    clock,
    newId,
    log,
    image: () => undefined,
  });
  const changes = new ChangeLog({ folder: join(paths.versions, 'undo'), clock });
  const undone = new UndoLog({ folder: join(paths.versions, 'undo', 'done'), disk: plainDisk });
  const audit = new AuditLog(paths.audit, { clock, log, mask: (text) => text });
  const promptParts = new PromptParts(paths.prompts, clock);
  const sweeper = new Sweeper(
    appWith({
      program: PROGRAM,
      clock,
      log,
      paths,
      storage,
      plugins: {
        each: (what: string) => (what === 'sessions' ? [['cron', kinds]] : []),
      } as unknown as App['plugins'],
      journal,
      sessions,
      changes,
      undone,
      audit,
      promptParts,
      marks: { sweep: async () => 0 } as unknown as App['marks'],
      landing: { sweep: async () => ({ removed: 0, bytes: 0 }) } as unknown as App['landing'],
    }),
  );
  return {
    clock,
    journal,
    sweeper,
    storage,
    path: paths.state,
    get healthy() {
      return healthy;
    },
    set healthy(value) {
      healthy = value;
    },
    // Read by the journal's own connection, through what any statement may do.
    count: async (table) => {
      await journal.outbox.settled();
      return counted(journal, table);
    },
    [Symbol.asyncDispose]: async () => {
      await sweeper[Symbol.asyncDispose]();
      storage[Symbol.dispose]();
      await sessions.close();
      journal[Symbol.dispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** How many of a kind are left, as the journal itself tells. */
function counted(journal: Journal, what: string): number {
  switch (what) {
    case 'waiting messages':
      return journal.inbox.page(0, 100).length;
    case 'waiting replies':
      return journal.outbox.page(0, 100).length;
    case 'waiting questions':
      return journal.questions.get('t.1') === undefined ? 0 : 1;
    default:
      return new CronRuns({ ...journal, clock: systemClock }).runs(what, 10_000).length;
  }
}

const JOB = { id: 'water', hash: 'h', definition: '{}', role: 'owner', creator: '{}', enabled: true, since: 0 };

describe('what is kept', () => {
  test('backups for 90 days, but never the newest three, and older audit files for 400 days', async () => {
    await using swept = await openSwept();
    const home = dirname(swept.path);
    const { backups, audit } = homePaths(home);
    await mkdir(backups);
    const write = async (path: string, days: number): Promise<void> => {
      await writeFile(path, 'x');
      const at = new Date(swept.clock.now() - days * DAY_MS);
      await utimes(path, at, at);
    };
    for (const days of [100, 200, 300, 400, 500]) await write(join(backups, `state-v${days}.db`), days);
    for (const [n, days] of [
      ['', 500],
      ['.1', 390],
      ['.2', 410],
      ['.3', 800],
    ] as const)
      await write(`${audit}${n}`, days);
    await swept.sweeper.sweep();
    expect((await readdir(backups)).toSorted()).toEqual(['state-v100.db', 'state-v200.db', 'state-v300.db']);
    expect((await readdir(home)).filter((name) => name.startsWith('audit')).toSorted()).toEqual([
      'audit.jsonl',
      'audit.jsonl.1',
    ]);
    expect(swept.sweeper.last?.removed).toMatchObject({ backups: 2, 'audit files': 2 });
    await write(join(backups, 'state-v50.db'), 50);
    await write(join(backups, 'state-v60.db'), 60);
    await write(join(backups, 'state-v70.db'), 70);
    await write(join(backups, 'state-v80.db'), 80);
    await swept.sweeper.sweep();
    expect(await readdir(backups)).toHaveLength(4);
  });

  test('a message, a reply and a question that still wait are never swept, however old they are', async () => {
    await using swept = await openSwept();
    const { journal, clock, sweeper } = swept;
    const reply = {
      id: 'r',
      channel: 'telegram',
      chatId: '1',
      kind: 'notice',
      text: 'hi',
      media: [],
      metadata: {},
    } as const;
    await journal.inbox.accept([inboundMessage()]);
    await journal.outbox.enqueue([reply]);
    const request = { title: 't', detail: 'd', reason: 'r' };
    const ask = { kind: 'ask', callId: 't.1', session: 's', turn: 't', person: '1', code: 'c', choices: [] } as const;
    const message = { ...reply, id: questionId('t.1') };
    const deadline = clock.now() + 1_000 * DAY_MS;
    await journal.questions.ask({ ...ask, own: true, hash: '', request, message, deadline });
    clock.skip(800 * DAY_MS);
    await sweeper.sweep();
    expect(await swept.count('waiting messages')).toBe(1);
    expect(await swept.count('waiting replies')).toBe(2);
    expect(await swept.count('waiting questions')).toBe(1);
    await journal.questions.end('t.1', 'expired');
    clock.skip(91 * DAY_MS);
    await sweeper.sweep();
    expect(await swept.count('waiting questions')).toBe(0);
  });

  test('of a job its newest 1,000 runs stay, with those of a calm job for 90 days, and no due time can be taken twice', async () => {
    await using swept = await openSwept();
    const { journal, clock, sweeper } = swept;
    const start = clock.now();
    for (const id of ['water', 'calm']) await new CronRuns({ ...journal, clock }).agree({ ...JOB, id, settled: start });
    const claim = (job: string, dueAt: number): Promise<boolean> => {
      const inbound = inboundMessage({ id: `${job}:${dueAt}`, externalId: `cron:${job}:${dueAt}`, origin: 'cron' });
      return new CronRuns({ ...journal, clock }).claim({ job, dueAt, lateMs: 0, last: false, inbound });
    };
    expect(await claim('calm', start)).toBe(true);
    await Promise.all(Array.from({ length: 1_200 }, (_, n) => claim('water', start + n * MINUTE_MS)));
    await Promise.all(journal.inbox.page(0, 2_000).map(({ message }) => journal.deadLetters.refuse(message.id)));
    await sweeper.sweep();
    expect(await swept.count('water')).toBe(1_000);
    expect(await swept.count('calm')).toBe(1);
    expect(new CronRuns({ ...journal, clock }).prunedUpTo('water')).toBe(start + 199 * MINUTE_MS);
    expect(await claim('water', start + 10 * MINUTE_MS)).toBe(false);
    expect(await claim('water', start + 500 * MINUTE_MS)).toBe(false);
    expect(await claim('water', start + 1_200 * MINUTE_MS)).toBe(true);

    clock.skip(91 * DAY_MS);
    await sweeper.sweep();
    // The newest was not carried out yet.
    expect(await swept.count('water')).toBe(1);
    expect(await swept.count('calm')).toBe(0);
    expect(await claim('calm', start)).toBe(false);
    // A definition that was agreed anew is still the same job.
    await new CronRuns({ ...journal, clock }).agree({ ...JOB, id: 'calm', hash: 'other', settled: 0 });
    expect(await claim('calm', start)).toBe(false);
  });

  test('while the disk takes no writes nothing is swept, and the sweep goes on where it was', async () => {
    await using swept = await openSwept();
    const { journal, clock, sweeper, storage } = swept;
    await new CronRuns({ ...journal, clock }).agree({ ...JOB, settled: clock.now() });
    await new CronRuns({ ...journal, clock }).forget([JOB.id]);
    clock.skip(91 * DAY_MS);
    swept.healthy = false;
    expect(storage.failed(Object.assign(new Error('no space left on device'), { code: 'ENOSPC' }))).toBe(true);
    const sweeping = sweeper.sweep();
    clock.skip(5 * MINUTE_MS);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(new CronRuns({ ...journal, clock }).job(JOB.id)).toBeDefined();
    swept.healthy = true;
    clock.skip(MINUTE_MS);
    await waitFor(() => storage.state.state === 'ok', { what: 'the disk is healed' });
    await sweeping;
    expect(new CronRuns({ ...journal, clock }).job(JOB.id)).toBeUndefined();
  });
});

describe('the room on the disk', () => {
  test('a new journal gives room back by itself', async () => {
    await using swept = await openSwept();
    using db = new DatabaseSync(':memory:');
    expect(db.prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum']).toBe(0);
    const { journal } = swept;
    expect(journal.retention.sweeps().length).toBeGreaterThan(10);
    await swept.sweeper[Symbol.asyncDispose]();
    journal[Symbol.dispose]();
    using own = new DatabaseSync(swept.path);
    expect(own.prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum']).toBe(2);
  });

  test('an older file is made smaller offline, and gives room back by itself from then on', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'state.db');
    {
      using db = new DatabaseSync(path);
      db.exec(`PRAGMA journal_mode = WAL; CREATE TABLE t (x); WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        WHERE i < 2000) INSERT INTO t SELECT randomblob(1000) FROM n; DELETE FROM t WHERE rowid > 100;`);
    }
    const { before, after } = await vacuumDatabase(path);
    expect(before).toBeGreaterThan(2_000_000);
    expect(after).toBeLessThan(300_000);
    using db = new DatabaseSync(path);
    expect(db.prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum']).toBe(2);
    expect(db.prepare('SELECT count(*) AS n FROM t').get()?.['n']).toBe(100);
  });
});
