import { truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DeliveryWorld } from '../support/delivery-world.ts';
import { failing } from '../support/scripted-channel.ts';
import { tempFolder } from '../support/temp.ts';
import { settle } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';

const HOUR = 3_600_000;

describe('order', () => {
  test('the messages of a chat arrive in the order in which they were written', async () => {
    await using world = await DeliveryWorld.open();
    world.delivery.start();
    for (const text of ['one', 'two|three', 'four']) await world.say(text);
    expect(world.channel.texts).toEqual(['one', 'two', 'three', 'four']);
    expect(world.state('m1')).toBeUndefined();
  });

  test('a chat whose send hangs keeps no other chat waiting', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next(['hang'], 'slow');
    world.delivery.start();
    await world.say('stuck', { chatId: 'slow' });
    await world.say('free', { chatId: 'other' });
    expect(world.channel.texts).toEqual(['free']);
  });

  test('two threads of one chat do not wait for each other', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next(['hang']);
    world.delivery.start();
    await world.say('stuck', { threadId: '1' });
    await world.say('free', { threadId: '2' });
    expect(world.channel.arrived.map(({ part }) => part.threadId)).toEqual(['2']);
  });

  test.each(['notice', 'approval'] as const)('a %s overtakes the answers that wait in its chat', async (kind) => {
    await using world = await DeliveryWorld.open();
    const release = world.channel.hold();
    world.delivery.start();
    await world.say('first');
    await world.say('second');
    await world.say('urgent', { kind });
    release();
    await settle();
    expect(world.channel.texts).toEqual(['first', 'urgent', 'second']);
  });

  test('a notice goes between the parts of an answer, after the part that is being sent', async () => {
    await using world = await DeliveryWorld.open();
    const release = world.channel.hold();
    world.delivery.start();
    await world.say('one|two|three');
    await world.say('urgent', { kind: 'notice' });
    release();
    await settle();
    expect(world.channel.texts).toEqual(['one', 'urgent', 'two', 'three']);
  });

  test('a lane is forgotten when its chat has nothing left', async () => {
    await using world = await DeliveryWorld.open();
    world.delivery.start();
    for (let chat = 0; chat < 50; chat += 1) await world.say('hi', { chatId: `c${chat}` });
    expect(world.channel.arrived).toHaveLength(50);
    expect(world.delivery.busyChats).toBe(0);
  });
});

describe('what the channel is given', () => {
  test('all parts are on disk before the first leaves', async () => {
    await using world = await DeliveryWorld.open();
    const release = world.channel.hold();
    world.delivery.start();
    const id = await world.say('one|two|three');
    expect(world.journal.outbox.open(id)?.parts.map(({ text, state }) => [text, state])).toEqual([
      ['one', 'sending'],
      ['two', 'pending'],
      ['three', 'pending'],
    ]);
    release();
  });

  test('parts that were written with the message are sent as they are', async () => {
    await using world = await DeliveryWorld.open();
    const message = {
      id: 'x',
      channel: 'test',
      chatId: 'chat',
      kind: 'answer',
      text: 'a|b',
      media: [],
      metadata: {},
    } as const;
    await world.journal.turns.claim({ id: 't', session: 's', role: 'owner', messages: [] });
    await world.journal.outbox.enqueue([message]);
    await world.journal.outbox.render('x', ['written before']);
    world.delivery.start();
    await settle();
    expect(world.channel.texts).toEqual(['written before']);
  });

  test('only the first part replies, each part has a nonce of its own that stays the same', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.retryable()]);
    world.delivery.start();
    await world.say('one|two', { replyTo: '77', turnId: 't1', threadId: '5' });
    await world.clock.advance(1_000);
    const [failed, first, second] = world.channel.attempts.map(({ part }) => part);
    expect(failed?.nonce).toBe(first?.nonce);
    expect(second?.nonce).not.toBe(first?.nonce);
    expect(first).toMatchObject({ messageId: 'm1', kind: 'answer', turnId: 't1', threadId: '5', replyTo: '77' });
    expect(second?.replyTo).toBeUndefined();
  });

  test('a message with nothing to show is given up, not sent', async () => {
    await using world = await DeliveryWorld.open();
    world.delivery.start();
    const id = await world.say('|');
    expect(world.state(id)).toBeUndefined();
    expect(world.channel.attempts).toEqual([]);
    expect(world.log.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message: 'delivery: message given up' }),
    );
  });
});

describe('retries', () => {
  test('what certainly did not arrive is tried again after 1, 2, 4, … 60 s, unmarked', async () => {
    await using world = await DeliveryWorld.open();
    const failures = 9;
    world.channel.next(Array.from({ length: failures }, () => failing.retryable()));
    const times: number[] = [];
    const begin = world.clock.now();
    world.delivery.start();
    await world.say('hello');
    for (let seconds = 0; seconds <= 300; seconds += 1) {
      while (times.length < world.channel.attempts.length) times.push((world.clock.now() - begin) / 1_000);
      await world.clock.advance(1_000);
    }
    const waits = times.map((time, index) => time - (times[index - 1] ?? 0));
    expect(waits).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
    expect(world.channel.texts).toEqual(['hello']);
  });

  test('the lane keeps its order while its first message is retried', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.retryable()]);
    world.delivery.start();
    await world.say('one');
    await world.say('two');
    expect(world.channel.texts).toEqual([]);
    await world.clock.advance(1_000);
    expect(world.channel.texts).toEqual(['one', 'two']);
  });

  test('a platform that names a wait is waited for, even by a notice', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.retryable(17_000)]);
    world.delivery.start();
    const id = await world.say('answer');
    await world.say('notice', { kind: 'notice' });
    expect(world.journal.outbox.open(id)?.nextAt).toBe(world.clock.now() + 17_000);
    await world.clock.advance(16_999);
    expect(world.channel.attempts).toHaveLength(1);
    await world.clock.advance(1);
    expect(world.channel.texts).toEqual(['notice', 'answer']);
  });

  test('a retried part does not repeat the parts before it', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next(['ok', failing.retryable()]);
    world.delivery.start();
    await world.say('one|two|three');
    await world.clock.advance(1_000);
    expect(world.channel.texts).toEqual(['one', 'two', 'three']);
  });

  test('what may have arrived is sent again marked, after two seconds', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.uncertain()]);
    world.delivery.start();
    const id = await world.say('hello|more');
    expect(world.state(id)).toBe('uncertain');
    await world.clock.advance(1_999);
    expect(world.channel.texts).toEqual([]);
    await world.clock.advance(1);
    expect(world.channel.texts).toEqual(['↻ hello', 'more']);
  });

  test('an error of no known kind counts as uncertain', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([new TypeError('who knows')]);
    world.delivery.start();
    await world.say('hello');
    await world.clock.advance(2_000);
    expect(world.channel.texts).toEqual(['↻ hello']);
  });

  test('a send that takes longer than 30 s is cut off and uncertain', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next(['hang']);
    world.delivery.start();
    const id = await world.say('hello');
    await world.clock.advance(30_000);
    expect(world.state(id)).toBe('uncertain');
    await world.clock.advance(2_000);
    expect(world.channel.texts).toEqual(['↻ hello']);
  });

  test('a part once marked stays marked when a later attempt fails cleanly', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.uncertain(), failing.retryable()]);
    world.delivery.start();
    await world.say('hello');
    await world.clock.advance(10_000);
    expect(world.channel.attempts.map(({ text }) => text)).toEqual(['hello', '↻ hello', '↻ hello']);
  });

  test('what may have arrived is sent once more, ever; then the message ends and the lane goes on', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next(Array.from({ length: 2 }, () => failing.uncertain()));
    world.delivery.start();
    const id = await world.say('cursed');
    await world.say('next');
    await world.clock.advance(60_000);
    expect(world.channel.attempts.map(({ text }) => text)).toEqual(['cursed', '↻ cursed', 'next']);
    expect(world.state(id)).toBeUndefined();
  });

  test('a channel that settles resends by itself is asked again until the message expires', async () => {
    await using world = await DeliveryWorld.open();
    Object.assign(world.channel, { settlesResends: true });
    world.channel.next(Array.from({ length: 9 }, () => failing.uncertain()));
    world.delivery.start();
    await world.say('settled');
    await world.clock.advance(600_000);
    expect(world.channel.attempts).toHaveLength(10);
    expect(world.channel.texts).toEqual(['settled']);
  });

  test('a send may take as long as its files take at 50 kB/s, beside the 30 s', async () => {
    await using world = await DeliveryWorld.open();
    await using folder = await tempFolder();
    const path = join(folder.path, 'film.mp4');
    await writeFile(path, '');
    await truncate(path, 5_000_000);
    world.channel.next(['hang']);
    world.delivery.start();
    const id = await world.say('hello', { media: [{ kind: 'video', mediaType: 'video/mp4', path }] });
    await waitFor(() => world.channel.attempts.length === 1);
    await world.clock.advance(129_000);
    expect(world.state(id)).toBe('sending');
    await world.clock.advance(1_000);
    expect(world.state(id)).toBe('uncertain');
  });

  test('a refusal for good ends the message at once and the lane goes on', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.permanent()]);
    world.delivery.start();
    const id = await world.say('refused|second part');
    await world.say('next');
    expect(world.state(id)).toBeUndefined();
    expect(world.channel.attempts.map(({ text }) => text)).not.toContain('second part');
    expect(world.log.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        fields: expect.objectContaining({ id, reason: 'blocked by the user' }),
      }),
    );
  });

  test('a chat that takes nothing any more ends what waits for it, and nothing that is said there later', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.blocked()], 'gone');
    const release = world.channel.hold();
    const ids = [await world.say('one', { chatId: 'gone' }), await world.say('two', { chatId: 'gone' })];
    world.delivery.start();
    await world.say('elsewhere');
    release();
    await settle();
    expect(ids.map((id) => world.state(id))).toEqual([undefined, undefined]);
    expect(world.channel.attempts.filter(({ chatId }) => chatId === 'gone')).toHaveLength(1);
    await world.say('later', { chatId: 'gone' });
    expect(world.channel.texts.at(0)).toBe('elsewhere');
    expect(world.channel.texts.at(-1)).toBe('later');
    expect(world.channel.texts).not.toContain('one');
  });
});

describe('expiry', () => {
  test('a message that could not be sent before it expires is not sent any more', async () => {
    await using world = await DeliveryWorld.open();
    world.outlets.down.add('test');
    world.delivery.start();
    const id = await world.say('too late', { expiresAt: world.clock.now() + 5_000 });
    await world.clock.advance(5_000);
    expect(world.state(id)).toBeUndefined();
    world.outlets.down.clear();
    world.outlets.tell('test');
    await settle();
    expect(world.channel.attempts).toEqual([]);
  });

  test('an answer without an expiry of its own is tried for 24 hours', async () => {
    await using world = await DeliveryWorld.open();
    const { id, ...rest } = {
      id: 'x',
      channel: 'test',
      chatId: 'c',
      kind: 'answer',
      text: 'hi',
      media: [],
      metadata: {},
    } as const;
    await world.journal.outbox.enqueue([{ id, ...rest }]);
    world.outlets.down.add('test');
    world.delivery.start();
    await world.clock.advance(24 * HOUR - 1);
    expect(world.state(id)).toBe('pending');
    await world.clock.advance(1);
    expect(world.state(id)).toBeUndefined();
  });

  test('a wait that the platform asks for does not outlive the message', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.retryable(HOUR)]);
    world.delivery.start();
    const id = await world.say('short-lived', { expiresAt: world.clock.now() + 10_000 });
    await world.say('longer', { expiresAt: world.clock.now() + 2 * HOUR });
    await world.clock.advance(HOUR);
    expect(world.state(id)).toBeUndefined();
    expect(world.channel.texts).toEqual(['longer']);
  });
});
