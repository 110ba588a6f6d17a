import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { journalMigrations } from '../../src/core/journal/schema.ts';
import { openDatabase } from '../../src/core/storage/open-database.ts';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import type { PairingAttempt } from '../../src/core/journal/pairing.ts';
import { peopleOnDisk } from '../../src/core/journal/people.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { failureOf } from '../config/temporary-home.ts';
import { tempFolder } from '../support/temp.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

interface PairingWorld {
  readonly path: string;
  readonly clock: VirtualClock;
  journal: Journal;
  /** Closes the journal and opens it again. */
  reopen(): Promise<void>;
  requestPairing(senderId: string, more?: Partial<PairingAttempt>): Promise<boolean>;
  /** What waits to be sent to a chat. */
  said(chatId: string): readonly string[];
}

async function pairingWorld(): Promise<PairingWorld> {
  const folder = await tempFolder();
  const clock = new VirtualClock();
  const path = join(folder.path, 'state.db');
  const open = (): Promise<Journal> =>
    openJournal({ path, backupPath: null, clock, newId: createIds(clock, systemRandom) });
  const world: PairingWorld = {
    path,
    clock,
    journal: await open(),
    reopen: async () => {
      world.journal[Symbol.dispose]();
      world.journal = await open();
    },
    requestPairing: (senderId, more = {}) =>
      world.journal.pairing.requestPairing({ channel: 'telegram', senderId, chatId: senderId, ...more }),
    said: (chatId) =>
      world.journal.outbox.page(0, 1_000).flatMap(({ message }) => (message.chatId === chatId ? [message.text] : [])),
  };
  onTestFinished(async () => {
    world.journal[Symbol.dispose]();
    await folder[Symbol.asyncDispose]();
  });
  return world;
}

const codeOf = (world: PairingWorld, id: string): string =>
  world.journal.pairing.pending().find((request) => request.id === id)?.code ?? '';

describe('a stranger who writes', () => {
  test('is sent a code of 8 characters that are hard to mix up, which is worth nothing after 10 minutes', async () => {
    const world = await pairingWorld();
    expect(await world.requestPairing('7', { name: 'Ben' })).toBe(true);
    const [request] = world.journal.pairing.pending();
    expect(request).toEqual({
      channel: 'telegram',
      id: '7',
      name: 'Ben',
      code: expect.stringMatching(/^[2-9A-HJ-NP-Z]{8}$/u),
      expiresAt: world.clock.now() + 10 * MINUTE,
    });
    expect(world.said('7')).toEqual([
      expect.stringMatching(
        new RegExp(
          `Your id here is telegram:7\\. .*this code: \`${request?.code}\`.* pair approve ${request?.code}\`.*\`/pair ${request?.code}\`.* expires in 10 minutes`,
          'u',
        ),
      ),
    ]);
    expect(world.journal.outbox.page(0, 1)[0]?.message).toMatchObject({
      kind: 'notice',
      expiresAt: request?.expiresAt,
    });
    await world.clock.advance(10 * MINUTE);
    expect(world.journal.pairing.pending()).toEqual([]);
    await failureOf(world.journal.pairing.approve(request?.code ?? '', { by: 'test', role: 'trusted' }));
    expect(world.journal.people.list()).toEqual([]);
  });

  test('gets one code an hour, however often they write, also across restarts', async () => {
    const world = await pairingWorld();
    expect(await world.requestPairing('7')).toBe(true);
    const requests = await Promise.all([world.requestPairing('7'), world.requestPairing('7')]);
    await world.reopen();
    await world.clock.advance(59 * MINUTE);
    expect([...requests, await world.requestPairing('7')]).toEqual([false, false, false]);
    expect(world.said('7')).toHaveLength(1);
    await world.clock.advance(MINUTE);
    expect(await world.requestPairing('7')).toBe(true);
    expect(world.said('7')).toHaveLength(2);
  });

  test('gets one of two codes at once when they write twice in one moment', async () => {
    const world = await pairingWorld();
    expect(await Promise.all([world.requestPairing('7'), world.requestPairing('7')])).toEqual([true, false]);
  });

  test('who may have none costs no write, however often they write', async () => {
    const world = await pairingWorld();
    expect(await world.requestPairing('7')).toBe(true);
    using other = new DatabaseSync(world.path);
    other.exec('BEGIN IMMEDIATE');
    expect(await world.requestPairing('7')).toBe(false);
    other.exec('ROLLBACK');
  });

  test('gets none while three wait in that channel; another channel has three of its own', async () => {
    const world = await pairingWorld();
    for (const id of ['1', '2', '3']) expect(await world.requestPairing(id)).toBe(true);
    expect(await world.requestPairing('4')).toBe(false);
    expect(await world.requestPairing('4', { channel: 'other' })).toBe(true);
    await world.journal.pairing.approve(codeOf(world, '2'), { by: 'test', role: 'trusted' });
    expect(await world.requestPairing('4')).toBe(true);
    expect(await world.requestPairing('5')).toBe(false);
    await world.clock.advance(10 * MINUTE);
    expect(await world.requestPairing('5')).toBe(true);
  });

  test('cannot make the assistant send more than ten codes an hour, with however many accounts', async () => {
    const world = await pairingWorld();
    const sent: boolean[] = [];
    for (let id = 100; id < 150; id += 1) {
      sent.push(await world.requestPairing(String(id)));
      await world.clock.advance(MINUTE);
    }
    expect(sent.filter(Boolean)).toHaveLength(10);
    await world.clock.advance(HOUR);
    expect(await world.requestPairing('999')).toBe(true);
  });

  test('leaves nothing behind but their name, cut to 60 characters, and only for as long as the rule needs it', async () => {
    const world = await pairingWorld();
    await world.requestPairing('7', { name: 'N'.repeat(500) });
    expect(world.journal.pairing.pending()[0]?.name).toBe('N'.repeat(60));
    await world.clock.advance(HOUR);
    await world.requestPairing('8');
    const db = new DatabaseSync(world.path);
    expect(db.prepare('SELECT user_id FROM pairing').all()).toEqual([{ user_id: '8' }]);
    db.close();
  });

  test('is not shut out for longer by a clock that was set back', async () => {
    const world = await pairingWorld();
    await world.clock.advance(24 * HOUR);
    await world.requestPairing('7');
    const earlier = new VirtualClock();
    const journal = await openJournal({ path: world.path, backupPath: null, clock: earlier, newId: () => 'id' });
    expect(await journal.pairing.requestPairing({ channel: 'telegram', senderId: '7', chatId: '7' })).toBe(true);
    journal[Symbol.dispose]();
  });
});

describe('somebody whose code is approved', () => {
  test('is known from then on, in that channel alone, and told once', async () => {
    const world = await pairingWorld();
    await world.requestPairing('7', { name: 'Ben', chatId: 'D7' });
    const code = codeOf(world, '7');
    const person = await world.journal.pairing.approve(code, { by: 'telegram:42', role: 'trusted' });
    expect(person).toEqual({
      channel: 'telegram',
      id: '7',
      name: 'Ben',
      role: 'trusted',
      addedAt: world.clock.now(),
      addedBy: 'telegram:42',
    });
    await world.reopen();
    expect(world.journal.people.list()).toEqual([person]);
    expect(world.journal.people.pairedRole('telegram', '7')).toBe('trusted');
    expect(world.journal.people.pairedRole('telegram', '77')).toBeUndefined();
    expect(world.journal.people.pairedRole('other', '7')).toBeUndefined();
    expect(world.journal.pairing.pending()).toEqual([]);
    expect(await failureOf(world.journal.pairing.approve(code, { by: 'x', role: 'trusted' }))).toMatchObject({
      code: 'pairing-code',
    });
    const welcomes = world.journal.outbox
      .page(0, 1_000)
      .filter(({ message }) => message.chatId === 'D7' && message.text.startsWith('You can write to me now.'));
    expect(welcomes.map(({ message }) => message.expiresAt)).toEqual([world.clock.now() + 24 * HOUR]);
  });

  test('may have it typed in small letters, with spaces and dashes', async () => {
    const world = await pairingWorld();
    await world.requestPairing('7');
    const code = codeOf(world, '7').toLowerCase();
    const typed = ` ${code.slice(0, 4)}-${code.slice(4)} `;
    expect(await world.journal.pairing.approve(typed, { by: 'test', role: 'trusted' })).toMatchObject({ id: '7' });
  });

  test('is a stranger again after they were removed', async () => {
    const world = await pairingWorld();
    await world.requestPairing('7');
    const person = await world.journal.pairing.approve(codeOf(world, '7'), { by: 'test', role: 'trusted' });
    expect(await world.journal.people.remove('other', '7')).toBeUndefined();
    expect(await world.journal.people.remove('telegram', '7')).toEqual(person);
    expect(await world.journal.people.remove('telegram', '7')).toBeUndefined();
    expect(world.journal.people.pairedRole('telegram', '7')).toBeUndefined();
    expect(await world.requestPairing('7')).toBe(true);
  });
});

describe('the role of a code', () => {
  test('is kept, and can be changed of those who were let in alone', async () => {
    const world = await pairingWorld();
    await world.requestPairing('7');
    await world.journal.pairing.approve(codeOf(world, '7'), { by: 'test', role: 'owner' });
    await world.reopen();
    expect(world.journal.people.pairedRole('telegram', '7')).toBe('owner');
    expect(peopleOnDisk(world.path)).toEqual([{ channel: 'telegram', id: '7', role: 'owner' }]);
    expect(await world.journal.people.setRole('telegram', '7', 'trusted')).toMatchObject({ id: '7', role: 'trusted' });
    expect(await world.journal.people.setRole('other', '7', 'owner')).toBeUndefined();
    expect(world.journal.people.list()).toMatchObject([{ id: '7', role: 'trusted' }]);
  });

  test('is a guest’s where the code made a guest, in this process, in the next and on disk', async () => {
    const world = await pairingWorld();
    await world.requestPairing('7');
    await world.journal.pairing.approve(codeOf(world, '7'), { by: 'test', role: 'guest' });
    await world.reopen();
    expect(world.journal.people.pairedRole('telegram', '7')).toBe('guest');
    expect(peopleOnDisk(world.path)).toEqual([{ channel: 'telegram', id: '7', role: 'guest' }]);
    expect(await world.journal.people.setRole('telegram', '7', 'trusted')).toMatchObject({ role: 'trusted' });
    expect(await world.journal.people.setRole('telegram', '7', 'guest')).toMatchObject({ role: 'guest' });
  });

  test('of people who were let in before there were owners by code is what it was', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'state.db');
    // The twelfth step is the one that knows owners.
    const db = await openDatabase({ path, migrations: journalMigrations.slice(0, 11), backupPath: null });
    db.exec("INSERT INTO people VALUES ('telegram', '7', 'trusted', 'Ben', 1, 'test')");
    db.close();
    using journal = await openJournal({ path, backupPath: null, clock: new VirtualClock(), newId: () => 'id' });
    expect(journal.people.list()).toMatchObject([{ channel: 'telegram', id: '7', name: 'Ben', role: 'trusted' }]);
    expect(await journal.people.setRole('telegram', '7', 'owner')).toMatchObject({ role: 'owner' });
  });

  test('is nobody’s where there is no journal, or one that cannot be read', async () => {
    await using folder = await tempFolder();
    const path = join(folder.path, 'state.db');
    expect(peopleOnDisk(path)).toEqual([]);
    await writeFile(path, 'no database');
    expect(peopleOnDisk(path)).toEqual([]);
  });
});

describe('wrong codes', () => {
  const tryWrong = (world: PairingWorld): Promise<unknown> =>
    failureOf(world.journal.pairing.approve('AAAAAAAA', { by: 'test', role: 'trusted' }));

  test('are borne four times; after the fifth none is taken for 15 minutes, not even a right one', async () => {
    const world = await pairingWorld();
    for (const left of ['4 more wrong codes', '3 more wrong codes', '2 more wrong codes', '1 more wrong code']) {
      expect(await tryWrong(world)).toMatchObject({
        code: 'pairing-code',
        message: expect.stringMatching(new RegExp(`After ${left}, pairing is locked for 15 minutes`, 'u')),
      });
    }
    await world.clock.advance(MINUTE);
    expect(await tryWrong(world)).toMatchObject({
      code: 'pairing-locked',
      message: expect.stringContaining('pairing is locked for 15 minutes'),
    });
    expect(world.journal.pairing.lockedUntil()).toBe(world.clock.now() + 15 * MINUTE);
    await world.reopen();
    await world.clock.advance(10 * MINUTE);
    await world.requestPairing('7');
    expect(
      await failureOf(world.journal.pairing.approve(codeOf(world, '7'), { by: 'test', role: 'trusted' })),
    ).toMatchObject({
      code: 'pairing-locked',
      message: expect.stringContaining('pairing is locked for 5 minutes'),
    });
    expect(world.journal.people.list()).toEqual([]);
    await world.clock.advance(5 * MINUTE);
    expect(await world.journal.pairing.approve(codeOf(world, '7'), { by: 'test', role: 'trusted' })).toMatchObject({
      id: '7',
    });
  });

  test('are forgotten after a right one, and after an hour', async () => {
    const world = await pairingWorld();
    const wrongTimes = async (times: number): Promise<void> => {
      for (let n = 0; n < times; n += 1) await tryWrong(world);
    };
    await wrongTimes(4);
    await world.requestPairing('7');
    await world.journal.pairing.approve(codeOf(world, '7'), { by: 'test', role: 'trusted' });
    await wrongTimes(4);
    await world.clock.advance(HOUR);
    await wrongTimes(4);
    expect(world.journal.pairing.lockedUntil()).toBeNull();
  });
});
