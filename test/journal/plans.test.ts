import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { CORE_VIEWS } from '../../src/core/journal/tables.ts';
import { CronRuns } from '../../src/extensions/cron/runs.ts';
import { Looks } from '../../src/extensions/heartbeat/looks.ts';
import { ORIGINS, TABLES } from '../support/extensions.ts';
import type { OutboundMessage } from '../../src/core/bus/messages.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { questionId } from '../../src/core/journal/questions.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { ageHome } from '../support/aged-home.ts';
import { inboundMessage } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';

/** Tables that stay small, and why; every other table counts as one that grows with the years. */
const SMALL: Readonly<Record<string, string>> = {
  allowances: 'what an owner allowed for good',
  channel_states: 'at most 1,000 states of a channel',
  cron_job: 'at most 200 jobs in the file, and those that ended in the last 90 days',
  cron_pruned: 'one row for each job',
  cursors: 'at most 5,000 places of a channel',
  home_files: 'one row for each of the home’s own files',
  landings: 'the landings of 90 days; what is added up or listed of all stands in an index',
  model_facts: 'a few rows for each model',
  ended_logins: 'log-outs of the page in 30 days; each needs a login of its own',
  opened: 'one row',
  owner_chats: 'the chats in which an owner wrote',
  pairing: 'at most 10 codes of a channel in an hour',
  pairing_tries: 'one row',
  people: 'whom an owner let in',
  session_busy: 'conversations with a choice of their own for /busy',
  session_models: 'conversations with a model of their own',
  sqlite_sequence: 'one row for each table that counts its rows',
  swept: 'one row',
};

const ended = (): Promise<unknown> => Promise.resolve();

/** Calls every method of every store, so that each prepares what it can. */
async function useAll(journal: Journal): Promise<void> {
  // None of the ids that the messages of the aged home have.
  const message = inboundMessage({ id: '01ZM1', chatId: '42', externalId: 'new:1' });
  const first = inboundMessage({ id: '01ZM0', chatId: '42', externalId: 'new:0' });
  const edits = { externalId: first.externalId, text: 'better' };
  const edit = inboundMessage({ id: '01ZM2', chatId: '42', externalId: 'new:2', edits });
  const stop = inboundMessage({ id: '01ZM3', chatId: '42', externalId: 'new:3', text: '/stop' });
  const { channel, account, chatId, sessionKey: session } = message;
  const reply = (id: string, more: Partial<OutboundMessage> = {}): OutboundMessage => ({
    id,
    channel,
    chatId,
    kind: 'answer',
    text: 'hi',
    media: [],
    metadata: {},
    ...more,
  });
  const {
    inbox,
    places,
    turns,
    turnRecords,
    outbox,
    usage,
    settings,
    deadLetters,
    previews,
    questions,
    allowances,
    freeChoices,
    consolidations,
  } = journal;
  const cron = new CronRuns({ ...journal, clock: systemClock });
  const heartbeats = new Looks(journal);
  const { cursors, feed, subagents, endedLogins, people, pairing, retention } = journal;
  inbox.onStop(() => {});
  inbox.onAnswer(() => {});
  inbox.countsBackground(() => 0);
  inbox.onCommitted(() => {});
  await inbox.untilDurable();
  inbox.onQueued(() => {})[Symbol.dispose]();
  outbox.onQueued(() => {})[Symbol.dispose]();
  await inbox.accept([first, edit, stop], [{ channel, place: 'p', last: '1' }]);
  await inbox.accept([first, message], [{ channel, place: 'p', last: '2' }]);
  await inbox.acceptOwn(inboundMessage({ id: '01ZM4', origin: 'system' }));
  await inbox.withdrawInternal(inboundMessage());
  await inbox.correct('t0', edit);
  await inbox.refusedBecause('none', 'No.');
  inbox.page(0, 5);
  places.find(first);
  expect(inbox.arrivals).toBeGreaterThan(0);
  inbox.waiting(session, 5);
  inbox.waitingSessions();
  inbox.byId([message.id]);
  inbox.heardUntil(channel);
  inbox.began(channel, 't0', '42');
  inbox.counts();
  journal.messageCounts();

  await turns.claim({ id: '01ZT1', session, role: 'owner', messages: [message] });
  await turns.adopt({ id: '01ZT2', session, role: 'owner', sources: ['none'] });
  await turns.absorb('01ZT1', ['none']);
  await turns.interrupt(message, { drop: true });
  turns.isStopping('01ZT1');
  turns.isBusy([session]);
  turns.last(session);
  turns.newestAnswered(session);
  turnRecords.newest(5);
  turnRecords.find('01ZT1');
  const { lives } = journal;
  lives.message(message.id);
  lives.messageAt(message, message.externalId);
  lives.sentAs(message, '77');
  lives.sentByItself(message, 0);
  lives.newest(session, 5);
  lives.since(0);
  lives.running(session);
  lives.messagesOf('01ZT1');
  lives.replies('01ZT1');
  lives.questions('01ZT1');
  const turn = lives.turn('01ZT1');
  if (turn !== undefined) lives.cost(turn);
  const { around, channelLog } = journal;
  const seen = { account, chatId, externalId: message.externalId };
  await channelLog.passOver(channel, { ...seen, reason: 'it was not addressed' });
  channelLog.passedOver({ channel, ...seen });
  await channelLog.begin();
  await channelLog.note(channel, { state: 'running' });
  channelLog.at(channel, 0);
  const place = { channel: message.channel, account: message.account, chat: message.chatId, externalId: 'm:1' };
  around.edits(place);
  around.wasReceived(place);
  around.turnBefore({ id: '01ZT1', session });
  if (turn !== undefined) around.cameDuring(turn);
  around.clockLag(message);
  around.outages();
  turns.open();
  turns.messages('01ZT1');
  turns.unanswered(session, 0);
  turns.ofMessage(message, message.externalId);
  await turns.resume('01ZT1', { progress: 1, died: true });
  await turns.forgive('01ZT1');
  await previews.begin('01ZT1', { channel, chatId });
  await previews.sent('01ZT1:preview', '77');
  previews.platformId('01ZT1');
  previews.isOvertaken('01ZT1');
  previews.isBehind({ channel: 'telegram', chatId: '1' });
  await previews.seal('01ZT1', 'so far');
  await previews.failed('01ZT1:preview', 'gone');
  await turns.close('01ZT1', 'answered', [{ message: reply('01ZT1:0', { turnId: '01ZT1' }), parts: ['hi'] }]);
  await turns.closeStopped('01ZT1');
  await turns.dead('01ZT1', []);
  await turns.again({ id: '01ZT3', session, role: 'owner', of: '01ZT1', command: '01ZT1' });

  await outbox.enqueue([reply('01ZO1'), reply('01ZO2')]);
  outbox.page(0, 5);
  outbox.open('01ZO1');
  outbox.filesOf('01ZT1');
  outbox.lastSent('01ZO1');
  outbox.isSent(reply('01ZO1'), '77');
  await outbox.render('01ZO1', ['hi']);
  await outbox.settled();
  await outbox.sending('01ZO1', 0, { resend: false });
  await outbox.postpone('01ZO1', 0, 'pending', 0, 'later');
  await outbox.forgetPlace('01ZO1', 0);
  await outbox.delivered('01ZO1', 0, '78');
  await outbox.retryNow(channel, chatId);
  await outbox.finish('01ZO2', 'dead', { reason: 'why', refused: { id: '01ZO2', n: 0 } });
  await outbox.endChat(channel, 'none', { reason: 'gone' });
  await outbox.tellElsewhere([channel]);
  outbox.stateOf('01ZO1');
  outbox.counts();

  feed.onQueued(() => {})[Symbol.dispose]();
  feed.after(feed.newest(), 5);
  feed.sent('01ZO1');
  feed.besideTape(session, { from: 0, to: 1 }, 5);
  await feed.forget('telegram:7');

  usage.onRecord(() => {})[Symbol.dispose]();
  const call = { turnId: '01ZT1', session, source: 'user', provider: 'p', model: 'm', costUsd: null };
  await usage.record({ ...call, usage: { input: 1, cached: 0, cacheWrite: 0, output: 1, reasoning: 0 } });
  const now = systemClock.now();
  usage.since(0);
  usage.since(now - 60_000, session);
  usage.since(now - 60_000);
  usage.ofTurn('01ZT1', session, now - 60_000);
  usage.day(now - 60_000);
  for (const group of ['quarter', 'model', 'source', 'session', 'job'] as const) usage.grouped(group, now - 60_000);
  for (const group of ['model', 'source', 'session', 'job'] as const) usage.series(group, now - 60_000);
  settings.model(session);
  await settings.setModel(session, 'p/m');
  await settings.setModel(session, null);
  settings.whenBusy(session);
  await settings.setWhenBusy(session, 'queue');
  await settings.setWhenBusy(session, null);

  deadLetters.outbox();
  deadLetters.undelivered();
  await deadLetters.retry('01ZO2');
  await deadLetters.drop('01ZO2');
  deadLetters.inbox();
  await deadLetters.readmit('none');
  await deadLetters.refuse('none');

  const asked = { session, turn: '01ZT3', deadline: now + 60_000, own: true, choices: [] };
  const request = { title: 't', detail: 'd', reason: 'r' };
  const approval = { kind: 'approval', callId: '01ZT3.1', code: 'c1', person: null, hash: 'h', request } as const;
  await questions.ask({ ...asked, ...approval, message: reply(questionId('01ZT3.1')) });
  questions.get('01ZT3.1');
  questions.waiting('approval');
  questions.byCode('c1');
  questions.countWaiting();
  questions.ownersChat();
  questions.ownersChat([channel]);
  questions.ownersWords(channel, chatId);
  questions.hasOwner(message);
  await inbox.accept([inboundMessage({ chatId: '42', text: '/approve c1' })]);
  await questions.end('01ZT3.1', 'expired');
  const ask = { kind: 'ask', callId: '01ZT3.2', code: 'c2', person: '1', hash: '', request } as const;
  await questions.ask({ ...asked, ...ask, message: reply(questionId('01ZT3.2')) });
  await inbox.accept([inboundMessage({ chatId: '42', text: 'this' })]);
  const allowed = { program: ['/bin/true'], folder: '/', createdBy: 'me', hash: 'h' };
  await allowances.remember(allowed);
  allowances.has('h');
  await freeChoices.take('c', 'telegram:42');
  await allowances.forget(allowances.list()[0]?.id ?? '');

  const consolidation = {
    id: '01ZA1',
    session,
    reason: 'mem',
    role: 'owner',
    direct: true,
    upTo: null,
    note: null,
  } as const;
  await consolidations.begin(consolidation);
  consolidations.get('01ZA1');
  consolidations.open();
  consolidations.open(session);
  consolidations.done(session);
  await consolidations.save('01ZA1', { state: 'done' });
  consolidations.lastMessage(session);

  const { facts } = journal;
  const told = { how: 'memory_write', session, turn: 't0' };
  const none = { begin: [], end: [], resume: [], change: null };
  await facts.step({ ...none, begin: [{ ...told, fact: 'Likes tea', since: now }], change: '{}' });
  const seq = facts.holding()[0]?.seq ?? 0;
  await facts.step({ ...none, end: [{ seq, by: { ...told, at: now }, replacedBy: null }] });
  expect(facts.ended(1)).toHaveLength(1);
  await facts.step({ ...none, resume: [seq] });
  expect(facts.change()).toBeNull();

  const job = cron.jobs()[0];
  if (job === undefined) throw new Error('the aged home has jobs');
  cron.job(job.id);
  cron.isOver(job.id, job.hash);
  await cron.agree(job);
  await cron.enable(job.id, true, now);
  await cron.forget(['none']);
  await cron.endRuns('none', null);
  const due = { job: job.id, lateMs: 0, last: false };
  await cron.claim({ ...due, dueAt: now + 1, inbound: inboundMessage({ origin: 'cron' }), outbound: reply('01ZO3') });
  const missed = { state: 'missed', first: now + 2, last: now + 2, count: 1, reason: 'late' } as const;
  await cron.miss(job.id, [missed, { ...missed, first: now + 3, last: now + 3 }], { last: false });
  await cron.settle(job.id, now);
  cron.prunedUpTo(job.id);
  cron.takenAfter(job.id, now - 60_000);
  cron.runs(job.id, 10);
  cron.newest(10);
  cron.busy();
  cron.failures(job.id, 0);
  await cron.silence('01ZT1', 'nothing');
  cron.silenced('01ZT1');

  await turns.calm();
  await journal.endWaiting({ id: 'restored:1', notice: () => reply('notice') });
  heartbeats.newest(10);
  heartbeats.ofMessage('none');
  await heartbeats.begin(now);
  await heartbeats.end(now, { action: 'skip', reason: 'r' }, inboundMessage({ origin: 'heartbeat' }));
  await heartbeats.judge(now, true, 'v');
  heartbeats.refused();
  heartbeats.failedTurns();
  cursors.of(channel);
  journal.modelFacts.all();
  await journal.modelFacts.keep({ model: 'a/b', name: 'window', value: '8192', at: 1 });
  await journal.modelFacts.forget('a/b');
  journal.homeFiles.all();
  await journal.homeFiles.keep(
    new Map([
      ['config.json', { bytes: 1, seenAt: now }],
      ['audit.jsonl', null],
    ]),
  );
  const task = inboundMessage({ origin: 'subagent', metadata: { subagent: {} } });
  await subagents.accept(task, 3);
  subagents.open();
  subagents.taskState(task);
  subagents.ofTurn('01ZT1');
  await subagents.end(task);
  const reacted = { channel, account, chatId, chatType: 'direct', role: 'owner', sender: message.sender } as const;
  journal.reactions.about({ channel, chatId, messageId: '78' });
  await journal.reactions.keep([
    { ...reacted, messageId: '78', emoji: '👍', isSet: true, at: now, outboundId: '01ZO1', session },
  ]);
  journal.reactions.toldWith(message.id);
  const { shownReactions } = journal;
  shownReactions.stateOf(message.id);
  await shownReactions.note({ id: message.id, channel, chatId, sessionKey: session, messageId: '78' }, ['👀']);
  shownReactions.of(channel);
  await shownReactions.forget(message.id);
  await endedLogins.add('hash', now + 60_000);
  expect(endedLogins.has('hash')).toBe(true);
  await pairing.requestPairing({ channel, senderId: '9', chatId: '9' });
  people.pairedRole(channel, '9');
  const by = { by: 'me', role: 'trusted' } as const;
  await pairing.approve(pairing.pending()[0]?.code ?? '', by);
  await pairing.approve('wrong', by).catch(ended);
  await people.setRole(channel, '9', 'owner');
  people.list(channel);
  pairing.lockedUntil();
  people.list();
  await people.remove(channel, '9');

  const { landings } = journal;
  const landing = {
    id: 'l1',
    at: now,
    session: 'telegram:1',
    turn: 't1',
    callId: 't1.1',
    command: 'touch a',
    undoes: null,
  };
  const landed = { ...landing, steps: '[]', paths: ['a'], undoBytes: 0, isKept: true, begunNs: 1n, doneNs: null };
  await landings.begin({ ...landed, state: 'landing' }, () => {});
  await landings.set(landing, 'landed', 2n);
  landings.get('l1');
  landings.ofTurn('telegram:1', 't1');
  landings.unfinished();
  landings.undosAfter('l1');
  landings.keptBytes();
  landings.ages();
  await landings.lose('l1');
  await landings.remove('l1');
  for (const sweep of retention.sweeps()) {
    for (let rounds = 0; rounds < 3; rounds += 1) await retention.slice(sweep, 4);
  }
  await retention.remember({ at: now, removed: {}, bytes: {} });
  retention.last();
  expect(account).toBe('bot');
}

/** Counts which methods of the stores are called; `rest` are those that nobody called. */
function watched(journal: Journal): { readonly journal: Journal; readonly rest: () => readonly string[] } {
  const uncalled = new Set<string>();
  const spied = Object.fromEntries(
    Object.entries(journal).map(([name, ledger]: [string, unknown]) => {
      if (typeof ledger !== 'object' || ledger === null) return [name, ledger];
      const members = Object.getOwnPropertyDescriptors(Object.getPrototypeOf(ledger));
      for (const [method, { value }] of Object.entries(members)) {
        // What is read only, a getter, runs no statement that its methods do not.
        if (method !== 'constructor' && typeof value === 'function') uncalled.add(`${name}.${method}`);
      }
      const spy = new Proxy(ledger, {
        get(target, key) {
          const value: unknown = Reflect.get(target, key, target);
          uncalled.delete(`${name}.${String(key)}`);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        },
      });
      return [name, spy];
    }),
  );
  // Parts of transactions of others, which those call.
  const inner = new Set(['inbox.enqueueInternal', 'outbox.insert', 'outbox.cancelUnsent', 'people.insert']);
  return { journal: { ...journal, ...spied }, rest: () => [...uncalled].filter((name) => !inner.has(name)) };
}

/** Why a step of a plan reads all of a table that grows; undefined: it does not. */
function scanOf(db: DatabaseSync, sql: string, detail: string): string | undefined {
  const [, name = '', index] = /^SCAN (\w+)(?: USING (?:COVERING )?INDEX (\w+))?/u.exec(detail) ?? [];
  if (name === '') return undefined;
  const table = new RegExp(`\\b(\\w+) AS ${name}\\b`, 'u').exec(sql)?.[1] ?? name;
  const schema = db.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?").get(table);
  if (schema === undefined || table in SMALL) return undefined;
  // The open set: an index that holds only what is still to be done.
  const of = index === undefined ? undefined : db.prepare('SELECT sql FROM sqlite_master WHERE name = ?').get(index);
  const set = /WHERE\s+([\s\S]+)$/u.exec(String(of?.['sql'] ?? ''))?.[1] ?? '';
  if (/^state (?:= '(?:accepted|waiting)'|IN \('(?:accepted|running|pending)'[^)]*\))/u.test(set.trim()))
    return undefined;
  // In the order of an index, until a few are found.
  const inOrder = new RegExp(`FROM ${table}(?: AS ${name})? ORDER BY [\\w. ]+ LIMIT`, 'u').test(sql);
  if (inOrder || (/\bLIMIT\b/u.test(sql) && (!/\bWHERE\b/u.test(sql) || set !== ''))) return undefined;
  return `${detail}\n${sql}`;
}

test('no statement that the journal prepares reads all of a table that grows', async () => {
  await using folder = await tempFolder();
  await ageHome(folder.path, { messages: 300, runs: 3_000, now: systemClock.now() });
  const prepared = new Set<string>();
  const prepare: unknown = Reflect.get(DatabaseSync.prototype, 'prepare');
  if (typeof prepare !== 'function') throw new Error('node:sqlite has no prepare');
  Reflect.set(DatabaseSync.prototype, 'prepare', function record(this: DatabaseSync, sql: string, ...rest: unknown[]) {
    prepared.add(sql);
    const statement: unknown = Reflect.apply(prepare, this, [sql, ...rest]);
    return statement;
  });
  const path = join(folder.path, 'state.db');
  try {
    using journal = await openJournal({
      tables: TABLES,
      origins: ORIGINS,
      path,
      backupPath: null,
      clock: systemClock,
      newId: createIds(systemClock, systemRandom),
    });
    const seen = watched(journal);
    await useAll(seen.journal);
    expect(seen.rest().filter((name) => !/^(?:db|starts)\./u.test(name))).toEqual([]);
  } finally {
    Reflect.set(DatabaseSync.prototype, 'prepare', prepare);
  }
  using db = new DatabaseSync(path);
  db.exec(CORE_VIEWS);
  const scans = [...prepared]
    .filter((sql) => !sql.startsWith('PRAGMA'))
    .flatMap((sql) => {
      const steps = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
      return steps.flatMap(({ detail }) => scanOf(db, sql, String(detail)) ?? []);
    });
  expect(scans).toEqual([]);
  // An index that also holds rows without a text would be read from its oldest row on, again for each slice.
  const emptying = [...prepared].filter((sql) => /payload IS NOT NULL[^]*updated_at < \?/u.test(sql));
  expect(emptying).toHaveLength(4);
  for (const sql of emptying) {
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    expect(JSON.stringify(plan)).toMatch(
      /USING INDEX (?:inbound_payload|inbound_ephemeral|outbound_payload)_age \(updated_at<\?\)/u,
    );
  }
  expect(prepared.size).toBeGreaterThan(120);
});
