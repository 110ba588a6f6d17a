import { createHash } from 'node:crypto';
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import { dedupeKey } from '../../src/core/journal/rows.ts';
import { entrySchema } from '../../src/core/session/entry.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';

const HOUR_MS = 3_600_000;
const KEY = 'telegram:46';

/**
 * Adds rows that a home rarely gets: old questions, pruned runs, deliveries in doubt, summed usage, a consolidation that was given
 * up. They have the form that the stores give them.
 */
export function fillRareRows(db: DatabaseSync, now: number): void {
  const add = (table: string, row: Readonly<Record<string, SQLInputValue>>): void => {
    const names = Object.keys(row);
    const sql = `INSERT OR REPLACE INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`;
    db.prepare(sql).run(...Object.values(row));
  };
  const times = { created_at: now, updated_at: now };
  const chat = { channel: 'telegram', chat: '46' };
  const id = (n: number): string => `01K00000000000000000000${String(n).padStart(3, '0')}`;
  let n = 0;
  for (const state of ['approved', 'denied', 'expired', 'cancelled']) {
    n += 1;
    add('approvals', {
      call_id: `${id(n)}.1`,
      code: `old${n}`,
      session: KEY,
      turn: id(n),
      ...chat,
      thread: '7',
      hash: sha256(`approval ${n}`),
      request: '{"title":"Run a command","detail":"uptime","reason":""}',
      state,
      reason: state === 'denied' ? 'not now' : null,
      answered_by: state === 'approved' || state === 'denied' ? 'telegram:42' : null,
      deadline: now,
      ...times,
    });
  }
  for (const state of ['answered', 'expired', 'cancelled']) {
    n += 1;
    add('asks', {
      call_id: `${id(n)}.1`,
      code: `ask${n}`,
      session: KEY,
      turn: id(n),
      ...chat,
      thread: '7',
      person: '46',
      choices: '["Tea"]',
      state,
      answer: state === 'answered' ? 'Tea' : null,
      deadline: now,
      ...times,
    });
  }
  // As the step of the schema did that replaced the two tables.
  db.exec(`INSERT INTO questions
      SELECT call_id, 'approval', code, session, turn, channel, chat, thread, NULL, 0, '[]', hash, request, state,
        reason, answered_by, deadline, created_at, updated_at FROM approvals;
    INSERT INTO questions
      SELECT call_id, 'ask', code, session, turn, channel, chat, thread, person, 0, choices, '',
        json_object('title', '', 'detail', '', 'reason', ''), state, answer, NULL, deadline, created_at, updated_at
      FROM asks;`);
  for (const state of ['done', 'refused', 'dead']) {
    n += 1;
    const message = {
      id: id(n),
      channel: 'telegram',
      account: 'bot',
      chatId: '46',
      chatType: 'direct',
      externalId: `m:${n}`,
      sessionKey: KEY,
      sender: { id: '46', name: 'Lou', isBot: false },
      text: `A message that is ${state}`,
      media: [],
      context: [],
      origin: 'user',
      receivedAt: now,
      metadata: {},
    };
    add('inbound', {
      id: id(n),
      channel: 'telegram',
      account: 'bot',
      chat: '46',
      external_id: `m:${n}`,
      session: KEY,
      payload: JSON.stringify(message),
      role: 'guest',
      origin: 'user',
      state,
      reason: state === 'done' ? null : 'because',
      turn_id: id(n),
      received_at: now,
      updated_at: now,
    });
    add('turns', {
      id: id(n),
      session: KEY,
      role: 'guest',
      state: state === 'dead' ? 'dead' : 'done',
      attempts: 3,
      outcome: state === 'done' ? 'answered' : 'failed',
      started_at: now,
      updated_at: now,
      progress: 1,
      resumed: 2,
    });
  }
  for (const state of ['delivered', 'uncertain', 'dead', 'expired']) {
    n += 1;
    const payload = {
      id: `${id(n)}:0`,
      channel: 'telegram',
      chatId: '46',
      kind: 'answer',
      text: `An answer that is ${state}`,
      media: [],
      metadata: {},
    };
    add('outbound', {
      id: `${id(n)}:0`,
      turn_id: id(n),
      ...chat,
      kind: 'answer',
      payload: JSON.stringify(payload),
      state,
      reason: 'because',
      attempts: 2,
      expires_at: now + 24 * HOUR_MS,
      owed: state === 'dead' ? 1 : 0,
      doubt: state === 'uncertain' ? 'oldest' : null,
      ...times,
    });
    const part = state === 'expired' ? 'dead' : state;
    add('parts', {
      outbound_id: `${id(n)}:0`,
      n: 0,
      text: payload.text,
      state: part,
      platform_id: state === 'delivered' ? '990001' : null,
      nonce: `nonce-of-22-character${n}`,
      resends: 1,
    });
  }
  for (const state of ['missed', 'skipped']) {
    n += 1;
    add('cron_run', {
      job: 'every-morning',
      due_at: now - n * HOUR_MS,
      last_due: now - n * HOUR_MS,
      count: 2,
      state,
      reason: 'the assistant did not run',
      late_ms: 0,
      at: now,
    });
  }
  for (const [at, action] of ['skip', 'run', 'refused'].entries()) {
    const ran = action === 'run';
    add('heartbeat', {
      at: now - (at + 1) * HOUR_MS,
      action,
      reason: ran ? 'Look whether the invoice of Hofer was paid.' : 'nothing to do',
      inbound_id: ran ? id(8) : null,
      told: ran ? 0 : null,
      verdict: ran ? 'it had nothing to report' : null,
    });
  }
  add('archives', {
    id: id(800),
    session: KEY,
    reason: 'size',
    role: 'guest',
    direct: 1,
    up_to: id(900),
    note: 'a note',
    state: 'dropped',
    failures: 5,
    result: null,
    ...times,
  });
  for (const span of ['hour', 'day']) {
    add('usage', {
      session: KEY,
      source: 'user',
      provider: 'openai',
      model: 'scripted-model',
      input: 10,
      cached: 1,
      cache_write: 1,
      output: 5,
      reasoning: 1,
      cost_usd: 0.01,
      at: now - 48 * HOUR_MS,
      span,
      calls: 7,
      unpriced: 1,
    });
  }
  add('people', {
    channel: 'discord',
    user_id: '4646',
    role: 'owner',
    name: 'Lou',
    added_at: now,
    added_by: 'terminal',
  });
  add('dedupe', { key: dedupeKey('telegram', 'bot', '46', 'm:0'), at: now - 24 * HOUR_MS });
  add('cron_pruned', { job: 'every-morning', due_at: now - 400 * HOUR_MS, at: now });
  add('ended_logins', { hash: sha256('a login of nobody'), until: now + 24 * HOUR_MS });
  add('reactions', {
    ...chat,
    message: '990001',
    person: '46',
    emoji: '👌',
    session: KEY,
    outbound: `${id(11)}:0`,
    name: 'Lou',
    role: 'guest',
    stands: 1,
    told_by: id(8),
    at: now,
  });
  add('swept', {
    id: 1,
    report: JSON.stringify({ at: now - HOUR_MS, removed: { messages: 2 }, bytes: { media: 300 } }),
  });
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Writes the tape of a long conversation: summary, trim, retracted turn and reset, with untrusted and private content. */
export function addLongTape(home: string, now: number): void {
  const target = { channel: 'telegram', chatId: '46' };
  const usage = { input: 1, cached: 0, cacheWrite: 0, output: 1, reasoning: 0 };
  let count = 0;
  const write = (draft: Readonly<Record<string, unknown>>): string => {
    count += 1;
    const id = `01K0000000000000000000T${String(count).padStart(3, '0')}`;
    const entry = entrySchema.parse({ v: 1, id, at: now - 1_000 + count, turn: null, ...draft });
    mkdirSync(join(home, 'sessions'), { recursive: true });
    appendFileSync(join(home, 'sessions', tapeName(KEY)), `${JSON.stringify(entry)}\n`, { mode: 0o600 });
    return id;
  };
  const turn = (n: number, marks: object = {}): string => {
    const id = `01K0000000000000000000U${String(n).padStart(3, '0')}`;
    write({ kind: 'turn-start', turn: id, sources: [`m${n}`], role: 'guest', origin: 'user' });
    write({
      kind: 'message',
      role: 'user',
      turn: id,
      sources: [`m${n}`],
      content: [{ type: 'text', text: `Question ${n}` }],
      ...marks,
    });
    write({
      kind: 'message',
      role: 'assistant',
      turn: id,
      content: [
        { type: 'reasoning', provider: 'openai', model: 'scripted-model', text: 'Hm.', data: null },
        { type: 'text', text: `Answer ${n}` },
      ],
      provider: 'openai',
      model: 'scripted-model',
      stopReason: 'stop',
      usage,
    });
    write({
      kind: 'turn-end',
      turn: id,
      outcome: n === 4 ? 'failed' : 'answered',
      answer: `Answer ${n}`,
      partial: 'An',
      target,
      usage,
      costUsd: null,
      model: 'openai/scripted-model',
      iterations: 1,
    });
    return id;
  };
  write({ kind: 'session', key: KEY });
  turn(1);
  write({ kind: 'reset', reason: 'new' });
  turn(2);
  const end = write({ kind: 'note', text: 'A note for readers.' });
  write({ kind: 'anchor', summary: 'They talked about question 2.', upTo: end, reason: 'size' });
  turn(3, { untrusted: true, source: 'a web page', private: true });
  turn(4);
  write({ kind: 'retract', turns: [turn(5)] });
  write({ kind: 'trim', stubUpTo: end, imagesUpTo: null, dropUpTo: null });
  turn(6);
}

/** Puts something into the folders that only damage fills. */
export function addQuarantine(home: string): void {
  mkdirSync(join(home, 'quarantine'), { recursive: true, mode: 0o700 });
  writeFileSync(join(home, 'quarantine', 'telegram%3a47.jsonl.1'), '{"v":1,"torn', { mode: 0o600 });
}
