import { describe, expect, test } from 'vitest';
import { DeliveryWorld } from '../support/delivery-world.ts';
import { failing, ScriptedChannel } from '../support/scripted-channel.ts';
import { settle } from '../support/virtual-clock.ts';

describe('after a restart', () => {
  test('what nobody began to send is sent unmarked', async () => {
    await using world = await DeliveryWorld.open();
    await world.say('waiting');
    await world.restart();
    world.delivery.start();
    await settle();
    expect(world.channel.texts).toEqual(['waiting']);
  });

  test('a part whose bytes may have left is sent again marked, and only that part', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next(['ok', 'hang']);
    world.delivery.start();
    const id = await world.say('one|two|three');
    await world.restart();
    expect(world.state(id)).toBe('sending');
    world.delivery.start();
    await settle();
    expect(world.channel.texts).toEqual(['one', '↻ two', 'three']);
    expect(world.state(id)).toBeUndefined();
  });

  test('resends are counted across restarts', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next(Array.from({ length: 2 }, () => 'hang' as const));
    const id = await world.say('cursed');
    for (let life = 0; life < 4; life += 1) {
      world.delivery.start();
      await settle();
      await world.restart();
    }
    expect(world.channel.attempts.map(({ text }) => text)).toEqual(['cursed', '↻ cursed']);
    expect(world.state(id)).toBeUndefined();
  });

  test('a wait that was written down is kept', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.retryable(60_000)]);
    world.delivery.start();
    await world.say('later');
    await world.restart();
    world.delivery.start();
    await world.clock.advance(50_000);
    expect(world.channel.attempts).toHaveLength(1);
    await world.clock.advance(10_000);
    expect(world.channel.texts).toEqual(['later']);
  });

  test('the older messages of a chat go before the new ones', async () => {
    await using world = await DeliveryWorld.open();
    await world.say('old');
    await world.restart();
    world.delivery.start();
    await world.say('new');
    expect(world.channel.texts).toEqual(['old', 'new']);
  });
});

describe('after a power loss', () => {
  test('what waited first may have left, and what waited after it has not', async () => {
    await using world = await DeliveryWorld.open();
    for (const text of ['one', 'two']) await world.say(text);
    await world.losePower();
    world.delivery.start();
    await settle();
    expect(world.channel.texts).toEqual(['↻ one', 'two']);
  });

  test('of a message that was leaving, the part after the one on its way may have left too', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next(['ok', 'hang']);
    world.delivery.start();
    await world.say('one|two|three|four');
    await world.losePower();
    world.delivery.start();
    await settle();
    expect(world.channel.texts).toEqual(['one', '↻ two', '↻ three', 'four']);
  });

  test('where the platform settles resends, every part that waited is sent as one that may be there', async () => {
    await using world = await DeliveryWorld.open();
    Object.assign(world.channel, { settlesResends: true });
    await world.say('one|two|three');
    await world.say('four');
    await world.losePower();
    world.delivery.start();
    await world.clock.advance(1);
    await settle();
    expect(world.channel.texts).toEqual(['one', 'two', 'three', 'four']);
    expect(world.channel.arrived.map(({ part }) => part.resend !== undefined)).toEqual([true, true, true, true]);
  });
});

describe('channels that cannot send', () => {
  test('messages wait for a channel that does not run, and leave when it does', async () => {
    await using world = await DeliveryWorld.open();
    world.outlets.down.add('test');
    world.delivery.start();
    const id = await world.say('patience');
    await world.clock.advance(60_000);
    expect(world.state(id)).toBe('pending');
    world.outlets.down.clear();
    world.outlets.tell('test');
    await settle();
    expect(world.channel.texts).toEqual(['patience']);
  });

  test('waiting costs no timers that tick', async () => {
    await using world = await DeliveryWorld.open();
    world.outlets.down.add('test');
    world.delivery.start();
    await world.say('patience');
    const before = world.clock.waiting;
    await world.clock.advance(600_000);
    expect(world.clock.waiting).toBe(before);
  });

  test('a refused token is reported once and its messages stay', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.revoked()]);
    world.delivery.start();
    const id = await world.say('hello');
    await world.clock.advance(60_000);
    expect(world.outlets.revocations).toEqual(['test']);
    expect(world.state(id)).toBe('pending');
    expect(world.channel.attempts).toHaveLength(1);
  });

  test('messages for a channel that is not enabled stay in the journal and are told of once', async () => {
    await using world = await DeliveryWorld.open();
    world.delivery.start();
    const first = await world.say('a', { channel: 'gone' });
    const second = await world.say('b', { channel: 'gone', chatId: 'other' });
    expect([world.state(first), world.state(second)]).toEqual(['pending', 'pending']);
    expect(world.log.lines.filter(({ fields }) => fields['channel'] === 'gone')).toHaveLength(1);
  });

  test('messages for a channel that was not enabled are sent by a start that enables it', async () => {
    await using world = await DeliveryWorld.open();
    world.delivery.start();
    await world.say('a', { channel: 'late' });
    await world.restart();
    const late = new ScriptedChannel('late');
    world.outlets.channels.set('late', late);
    world.delivery.start();
    await settle();
    expect(late.texts).toEqual(['a']);
  });

  test('a chat that can be reached again does not wait for the time that was set', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.retryable(3_600_000)], 'a');
    world.channel.next([failing.retryable(3_600_000)], 'b');
    world.delivery.start();
    await world.say('for a', { chatId: 'a' });
    await world.say('for b', { chatId: 'b' });
    world.outlets.tell('test', 'a');
    await settle();
    expect(world.channel.texts).toEqual(['for a']);
  });

  test('a chat that can be reached before delivery has looked at it is sent at once too', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.retryable(3_600_000)]);
    world.delivery.start();
    await world.say('hello');
    await world.restart();
    world.outlets.tell('test', 'chat');
    await settle();
    world.delivery.start();
    await settle();
    expect(world.channel.texts).toEqual(['hello']);
  });
});

describe('stopping', () => {
  test('a send in flight may end, and nothing new begins', async () => {
    await using world = await DeliveryWorld.open();
    const release = world.channel.hold();
    world.delivery.start();
    const first = await world.say('one');
    const second = await world.say('two');
    const drained = world.delivery.drain(3_000);
    await settle();
    release();
    await drained;
    expect(world.channel.texts).toEqual(['one']);
    expect([world.state(first), world.state(second)]).toEqual([undefined, 'pending']);
  });

  test('a send that does not end in time is cut off and stays known as begun', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next(['hang']);
    world.delivery.start();
    const id = await world.say('one');
    const drained = world.delivery.drain(3_000);
    await world.clock.advance(3_000);
    await drained;
    expect(world.state(id)).toBe('sending');
  });

  test('a message that was cancelled while it waited is not sent', async () => {
    await using world = await DeliveryWorld.open();
    const release = world.channel.hold();
    world.delivery.start();
    await world.say('one');
    const id = await world.say('two');
    await world.journal.outbox.finish(id, 'expired', { reason: 'stopped' });
    release();
    await settle();
    expect(world.channel.texts).toEqual(['one']);
  });
});

test('a journal that cannot be written for a while loses nothing and repeats nothing', async () => {
  await using world = await DeliveryWorld.open();
  const { outbox } = world.journal;
  const delivered = outbox.delivered.bind(outbox);
  let broken = 2;
  outbox.delivered = (...part) => {
    broken -= 1;
    return broken >= 0 ? Promise.reject(new Error('disk full')) : delivered(...part);
  };
  world.delivery.start();
  const id = await world.say('hello');
  await world.clock.advance(10_000);
  expect(world.channel.attempts.map(({ text }) => text)).toEqual(['hello']);
  expect(world.state(id)).toBeUndefined();
});
