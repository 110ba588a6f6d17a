import { existsSync } from 'node:fs';
import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { TABLES } from './extensions.ts';
import { hashOfJob, jobSchema, type Job } from '../../src/extensions/cron/job.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { openDatabase } from '../../src/core/storage/open-database.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { inboundMessage } from './inbound.ts';

const DAY_MS = 86_400_000;
/** Two years. */
const AGE_MS = 730 * DAY_MS;

export interface Ages {
  /** Messages of people, each with its turn, two model calls and a reply. */
  readonly messages: number;
  /** Runs of jobs: nearly all of one that runs all the time. */
  readonly runs: number;
  /** When the home is as old as that, ms since 1970. */
  readonly now: number;
}

/** The person whose home it is, by their chat. */
const CHAT = '42';
const REPLY = 'It is as you said, and here is what I found out about it. '.repeat(8);

/** A job that runs all the time, and three that run each hour. */
const AGED_JOBS: readonly Job[] = ['minute', 'hourly-1', 'hourly-2', 'hourly-3'].map((id) =>
  jobSchema.parse({
    id,
    kind: 'agent',
    text: 'Look at the mail.',
    every: id === 'minute' ? '1m' : '1h',
    chat: `telegram:${CHAT}`,
  }),
);

/** Fills a home as two years without any sweeping would have left it; whatever is in its journal stays. */
export async function ageHome(home: string, { messages, runs, now }: Ages): Promise<void> {
  const path = join(home, 'state.db');
  (await openDatabase({ path, migrations: journalMigrations, parts: TABLES, backupPath: null })).close();
  using db = new DatabaseSync(path);
  db.exec('PRAGMA synchronous = OFF; PRAGMA cache_size = -200000; PRAGMA foreign_keys = OFF;');
  const indices = db.prepare("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL").all();
  for (const { name } of indices) db.exec(`DROP INDEX ${String(name)}`);
  db.exec('BEGIN');
  const began = now - AGE_MS;
  talk(db, { count: messages, began });
  const [busy, ...calm] = AGED_JOBS;
  const each = Math.round(runs * 0.016);
  if (busy !== undefined) work(db, { job: busy, letter: 'A', count: runs - calm.length * each, began, now });
  for (const [n, job] of calm.entries()) work(db, { job, letter: 'BCD'.charAt(n), count: each, began, now });
  rest(db, { count: Math.ceil(messages / 100), began });
  db.exec(`INSERT OR REPLACE INTO usage_total
    SELECT session, sum(calls), sum(input), sum(cached), sum(cache_write), sum(output), sum(reasoning), sum(cost_usd), 0
    FROM usage GROUP BY session
    UNION ALL SELECT '', sum(calls), sum(input), sum(cached), sum(cache_write), sum(output), sum(reasoning), sum(cost_usd), 0
    FROM usage`);
  for (const { sql } of indices) db.exec(String(sql));
  db.exec('COMMIT; PRAGMA wal_checkpoint(TRUNCATE)');
  const folder = join(home, 'workspace', 'cron');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'jobs.json'), JSON.stringify({ version: 1, zone: 'Europe/Vienna', jobs: AGED_JOBS }));
  await writeTapes(db, join(home, 'sessions'));
}

/** The newest turn of each conversation on its tape. */
async function writeTapes(db: DatabaseSync, folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const row of db
    .prepare('SELECT session, max(id) AS turn, max(started_at) AS at FROM turns GROUP BY session')
    .all()) {
    const [key, turn] = [String(row['session']), String(row['turn'])];
    const path = join(folder, tapeName(key));
    const base = { v: 1, at: Number(row['at']) };
    const header = { ...base, id: `${turn}-a`, kind: 'session', turn: null, key };
    const note = { ...base, id: `${turn}-b`, kind: 'note', turn, text: 'The newest turn.' };
    const lines = existsSync(path) ? [note] : [header, note];
    await appendFile(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }
}

/** `n.i` counts from 0 on; `n.at` is the time of each. */
function times(count: number, began: number, spanMs: number): string {
  const step = spanMs / Math.max(1, count);
  return `(WITH RECURSIVE steps (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM steps WHERE i + 1 < ${count})
    SELECT i, CAST(${began} + i * ${step} AS INTEGER) AS at FROM steps) AS n`;
}

function talk(db: DatabaseSync, { count, began }: { readonly count: number; readonly began: number }): void {
  const from = times(count, began, AGE_MS - 3_600_000);
  const message = inboundMessage({
    id: 'ID',
    externalId: 'EXTERNAL',
    chatId: CHAT,
    sender: { id: CHAT, name: 'Ada', isBot: false },
    text: 'What do you think of this? '.repeat(8),
  });
  db.prepare(
    `INSERT INTO inbound (id, channel, account, chat, external_id, session, payload, role, origin, state, turn_id,
       received_at, updated_at)
     SELECT printf('01BM%022d', i), 'telegram', 'bot', ?1, 'm:' || (i + 1000), ?2,
       replace(replace(?3, '"ID"', json_quote(printf('01BM%022d', i))), '"EXTERNAL"', json_quote('m:' || (i + 1000))),
       'owner', 'user', 'done', printf('01BT%022d', i), at, at + 9000 FROM ${from}`,
  ).run(CHAT, message.sessionKey, JSON.stringify(message));
  turns(db, { from, prefix: '01BT', session: message.sessionKey, calls: 2, source: 'user' });
  says(db, { from, prefix: '01BT' });
  db.prepare(
    `INSERT OR REPLACE INTO owner_chats SELECT channel, chat, 1, payload, max(seq) FROM inbound WHERE origin = 'user'`,
  ).run();
}

interface Work {
  readonly job: Job;
  /** In the ids of its rows. */
  readonly letter: string;
  readonly count: number;
  readonly began: number;
  readonly now: number;
}

function work(db: DatabaseSync, { job, letter, count, began, now }: Work): void {
  const from = times(count, began, AGE_MS - 3_600_000);
  const [message, turn] = [`01A${letter}M`, `01A${letter}T`];
  const payload = inboundMessage({
    id: 'ID',
    externalId: 'EXTERNAL',
    chatId: CHAT,
    origin: 'cron',
    sessionKey: `cron:${job.id}`,
    text: `Scheduled task "${job.id}": ${job.text}`,
  });
  db.prepare(
    `INSERT INTO inbound (id, channel, account, chat, external_id, session, payload, role, origin, state, turn_id,
       received_at, updated_at)
     SELECT printf('${message}%021d', i), 'telegram', 'bot', ?1, 'cron:${job.id}:' || at, 'cron:${job.id}',
       replace(replace(?2, '"ID"', json_quote(printf('${message}%021d', i))), '"EXTERNAL"', json_quote('cron:${job.id}:' || at)),
       'owner', 'cron', 'done', printf('${turn}%021d', i), at, at + 5000 FROM ${from}`,
  ).run(CHAT, JSON.stringify(payload));
  turns(db, { from, prefix: turn, session: `cron:${job.id}`, calls: 1, source: 'cron' });
  says(db, { from: `${from} WHERE i % 20 = 0`, prefix: turn });
  db.exec(`INSERT INTO cron_run (job, due_at, last_due, count, state, inbound_id, late_ms, at)
    SELECT '${job.id}', at, at, 1, 'claimed', printf('${message}%021d', i), 12, at FROM ${from}`);
  const creator = { channel: 'telegram', id: CHAT, name: 'Ada', account: 'bot', chat: CHAT, chatType: 'direct' };
  db.prepare(
    `INSERT OR REPLACE INTO cron_job (id, hash, definition, role, creator, enabled, settled, since, state, updated_at)
     VALUES (?, ?, ?, 'owner', ?, 1, ?, ?, 'active', ?)`,
  ).run(job.id, hashOfJob(job), JSON.stringify(job), JSON.stringify(creator), now, began, began);
}

interface TurnRows {
  readonly from: string;
  readonly prefix: string;
}

function turns(db: DatabaseSync, rows: TurnRows & { session: string; calls: number; source: string }): void {
  const { from, prefix, session, calls, source } = rows;
  const id = `printf('${prefix}%0${26 - prefix.length}d', i)`;
  db.exec(`INSERT INTO turns (id, session, role, state, attempts, outcome, started_at, updated_at)
    SELECT ${id}, '${session}', 'owner', 'done', 1, 'answered', at, at + 9000 FROM ${from}`);
  for (let n = 0; n < calls; n += 1) {
    db.exec(`INSERT INTO usage (turn_id, session, source, provider, model, input, cached, cache_write, output, reasoning,
        cost_usd, at)
      SELECT ${id}, '${session}', '${source}', 'openai', 'scripted-model', 900, 600, 0, 80, 0, 0.001, at FROM ${from}`);
  }
}

function says(db: DatabaseSync, { from, prefix }: TurnRows): void {
  const turn = `printf('${prefix}%0${26 - prefix.length}d', i)`;
  const payload = { id: 'ID', channel: 'telegram', chatId: CHAT, kind: 'answer', text: REPLY, media: [], metadata: {} };
  db.prepare(
    `INSERT INTO outbound (id, turn_id, channel, chat, kind, payload, state, attempts, created_at, updated_at)
     SELECT ${turn} || ':0', ${turn}, 'telegram', ?1, 'answer', replace(?2, '"ID"', json_quote(${turn} || ':0')),
       'delivered', 1, at, at + 9500 FROM ${from}`,
  ).run(CHAT, JSON.stringify(payload));
  db.prepare(
    `INSERT INTO parts (outbound_id, n, text, state, platform_id, nonce)
     SELECT ${turn} || ':0', 0, ?1, 'delivered', '' || (i + 5000000), 'nonce-of-22-characters' FROM ${from}`,
  ).run(REPLY);
}

/** Questions, archived conversations and looks of the heartbeat. */
function rest(db: DatabaseSync, { count, began }: { readonly count: number; readonly began: number }): void {
  const from = times(count, began, AGE_MS);
  db.exec(`
    INSERT INTO approvals (call_id, code, session, channel, chat, state, deadline, created_at, updated_at)
      SELECT printf('01BT%022d.1', i), 'a' || i, 'telegram:${CHAT}', 'telegram', '${CHAT}', 'approved', at, at, at FROM ${from};
    INSERT INTO asks (call_id, code, session, turn, channel, chat, person, choices, state, deadline, created_at, updated_at)
      SELECT printf('01BT%022d.2', i), 'q' || i, 'telegram:${CHAT}', printf('01BT%022d', i), 'telegram', '${CHAT}', '${CHAT}',
        '[]', 'answered', at, at, at FROM ${from};
    INSERT INTO archives (id, session, reason, role, direct, state, created_at, updated_at)
      SELECT printf('01BA%022d', i), 'telegram:${CHAT}', 'size', 'owner', 1, 'done', at, at FROM ${from};
    INSERT INTO heartbeat (at, action, reason) SELECT at, 'skip', 'nothing to do' FROM ${times(count * 50, began, AGE_MS)};
  `);
}
