import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OutboundMessage } from '../../src/core/bus/messages.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { inboundMessage } from '../support/inbound.ts';
import { tempFolder } from '../support/temp.ts';

const newId = createIds(systemClock, systemRandom);

async function open(folder: string): Promise<Journal> {
  return openJournal({ path: join(folder, 'state.db'), backupPath: null, clock: systemClock, newId });
}

function answer(id: string, overrides: Partial<OutboundMessage> = {}): OutboundMessage {
  return { id, channel: 'telegram', chatId: '1', kind: 'answer', text: 'hi', media: [], metadata: {}, ...overrides };
}

describe('the inbox', () => {
  test('accepts a message once, however often the platform repeats it, also after a restart', async () => {
    await using folder = await tempFolder();
    const message = inboundMessage({ externalId: 'm:1' });
    {
      using journal = await open(folder.path);
      expect(await journal.inbox.accept([message])).toEqual(['accepted']);
      expect(await journal.inbox.accept([{ ...message, id: 'again' }])).toEqual(['duplicate']);
    }
    using journal = await open(folder.path);
    expect(await journal.inbox.accept([{ ...message, id: 'later' }])).toEqual(['duplicate']);
    expect(journal.inbox.page(0, 10).map(({ message: { id } }) => id)).toEqual([message.id]);
  });

  test('keeps the same native id of two chats and two accounts apart', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const results = await journal.inbox.accept([
      inboundMessage({ id: 'a', externalId: 'm:7', chatId: '1' }),
      inboundMessage({ id: 'b', externalId: 'm:7', chatId: '2' }),
      inboundMessage({ id: 'c', externalId: 'm:7', chatId: '1', account: 'other' }),
    ]);
    expect(results).toEqual(['accepted', 'accepted', 'accepted']);
  });

  test('refuses what exceeds 50 waiting messages of a chat, with one notice, and other chats do not notice', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const flood = Array.from({ length: 60 }, (_, n) => inboundMessage({ id: `f${n}`, externalId: `m:f${n}` }));
    const results = await journal.inbox.accept(flood);
    expect(results.filter((result) => result === 'refused')).toHaveLength(10);
    expect(await journal.inbox.accept([inboundMessage({ id: 'x', chatId: '2' })])).toEqual(['accepted']);
    const notices = journal.outbox.page(0, 100).map(({ message }) => message);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toMatchObject({ chatId: '1', kind: 'notice' });
  });
});

describe('a turn at its borders', () => {
  test('takes its messages, and closing it queues what it says in the same transaction', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const message = inboundMessage();
    await journal.inbox.accept([message]);
    const claimed = await journal.turns.claim({
      id: 't1',
      session: message.sessionKey,
      role: 'owner',
      messages: [message],
    });
    expect(claimed).toEqual([message]);
    expect(journal.inbox.page(0, 10)).toEqual([]);
    expect(journal.turns.open()).toMatchObject([{ id: 't1', attempts: 1, state: 'running', messages: [message] }]);
    expect(await journal.turns.close('t1', 'answered', [{ message: answer('t1:0'), parts: ['one', 'two'] }])).toBe(
      true,
    );
    expect(journal.turns.open()).toEqual([]);
    expect(journal.outbox.open('t1:0')?.parts.map(({ text, state }) => [text, state])).toEqual([
      ['one', 'pending'],
      ['two', 'pending'],
    ]);
  });

  test('is closed once: a second close queues nothing', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const message = inboundMessage();
    await journal.inbox.accept([message]);
    await journal.turns.claim({ id: 't1', session: message.sessionKey, role: 'owner', messages: [message] });
    await journal.turns.close('t1', 'answered', [{ message: answer('t1:0'), parts: [] }]);
    expect(await journal.turns.close('t1', 'answered', [{ message: answer('t1:1'), parts: [] }])).toBe(false);
    expect(journal.outbox.page(0, 10)).toHaveLength(1);
  });

  test('that nobody waits for any more is not begun', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const message = inboundMessage();
    await journal.inbox.accept([message]);
    const turn = { session: message.sessionKey, role: 'owner', messages: [message] } as const;
    await journal.turns.claim({ id: 't1', ...turn });
    expect(await journal.turns.claim({ id: 't2', ...turn })).toEqual([]);
    expect(journal.turns.open().map(({ id }) => id)).toEqual(['t1']);
  });
});

describe('/stop', () => {
  test('marks the running turn, refuses older waiting messages, cancels unsent answers and counts them, at once', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const [running, waiting, other] = [
      inboundMessage({ id: 'a' }),
      inboundMessage({ id: 'b' }),
      inboundMessage({ id: 'c', chatId: '2' }),
    ];
    await journal.inbox.accept([running, waiting, other]);
    await journal.turns.claim({ id: 't1', session: running.sessionKey, role: 'owner', messages: [running] });
    const told: string[] = [];
    journal.inbox.onStop(({ turnIds, dropped }) => told.push(...turnIds, ...dropped.map(({ id }) => id)));
    await journal.inbox.accept([inboundMessage({ id: 's', text: '/stop' })]);
    expect(told).toEqual(['t1', 'b']);
    expect(journal.turns.open()).toMatchObject([{ id: 't1', state: 'stopping' }]);
    expect(journal.inbox.page(0, 10).map(({ message }) => message.id)).toEqual(['c']);
    expect(await journal.turns.close('t1', 'answered', [{ message: answer('t1:0'), parts: [] }])).toBe(false);
    expect(await journal.turns.closeStopped('t1')).toBe(true);
    const says = journal.outbox.page(0, 10).map(({ message }) => message.text);
    expect(says).toEqual(['Stopped; dropped 1 waiting message.']);
  });

  test.each(['stop by the shop', 'please stop', '/stopwatch', 'don’t stop'])('is not meant by “%s”', async (text) => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    await journal.inbox.accept([inboundMessage({ text })]);
    expect(journal.inbox.page(0, 10)).toHaveLength(1);
  });

  test.each(['/stop', 'Stop', ' STOP ', '/stop@some_bot'])('is meant by “%s”', async (text) => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    await journal.inbox.accept([inboundMessage({ text })]);
    expect(journal.inbox.page(0, 10)).toEqual([]);
    expect(journal.outbox.page(0, 10).map(({ message }) => message.text)).toEqual(['Nothing is running here.']);
  });
});

describe('the journal as a whole', () => {
  test('work that fails is undone alone; what shares its transaction is kept', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const good = journal.inbox.accept([inboundMessage({ id: 'good' })]);
    const bad = journal.inbox.accept([inboundMessage({ id: 'fine', chatId: '3' }), inboundMessage({ id: 'good' })]);
    await expect(good).resolves.toEqual(['accepted']);
    await expect(bad).resolves.toEqual(['accepted', 'duplicate']);
  });

  test('sums tokens since a time, per session', async () => {
    await using folder = await tempFolder();
    using journal = await open(folder.path);
    const usage = { input: 10, cached: 4, cacheWrite: 0, output: 5, reasoning: 0 };
    const row = { turnId: 't', source: 'user', provider: 'p', model: 'm', usage, costUsd: null };
    await journal.usage.record({ ...row, session: 'a' });
    await journal.usage.record({ ...row, session: 'b' });
    expect(journal.usage.since(0, 'a')).toEqual({ calls: 1, usage, costUsd: 0, unpriced: 1 });
    expect(journal.usage.since(0).usage.input).toBe(20);
  });
});
