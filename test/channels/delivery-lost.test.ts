import { describe, expect, test } from 'vitest';
import { DeliveryWorld } from '../support/delivery-world.ts';
import { inboundMessage } from '../support/inbound.ts';
import { failing, ScriptedChannel } from '../support/scripted-channel.ts';
import { settle } from '../support/virtual-clock.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A world in which an owner once wrote in a chat of another channel. */
async function worldWithOwner(): Promise<{ readonly world: DeliveryWorld; readonly other: ScriptedChannel }> {
  const world = await DeliveryWorld.open();
  const other = new ScriptedChannel('other');
  world.outlets.channels.set('other', other);
  await world.journal.inbox.accept([inboundMessage({ channel: 'other', chatId: 'home' })]);
  return { world, other };
}

async function settled(world: DeliveryWorld): Promise<void> {
  for (let round = 0; round < 5; round += 1) await world.clock.advance(1);
}

describe('an answer that ends without arriving', () => {
  test('is told in front of the next answer of its chat, once', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.uncertain(), failing.uncertain()]);
    world.delivery.start();
    await world.say('the lost words');
    await world.clock.advance(10_000);
    for (const text of ['next', 'after']) await world.say(text);
    await settled(world);
    expect(world.channel.texts).toEqual([
      'An earlier message here may not have reached you: it was sent twice and never confirmed. It began: “the lost words”. If you do not see it, ask me again.',
      'next',
      'after',
    ]);
  });

  test.each([
    ['did not reach you', 'If you still need it, ask me again.', [failing.permanent()]],
    ['did not reach you', 'If you still need it, ask me again.', [failing.retryable(), failing.permanent()]],
    ['may not have reached you', 'If you do not see it, ask me again.', [failing.uncertain(), failing.permanent()]],
    ['reached you only in part', 'If you still need the rest, ask me again.', ['ok', failing.permanent()]],
    ['may not have reached you', 'If you do not see it, ask me again.', ['ok', failing.uncertain(), failing.blocked()]],
  ] as const)('"%s" is what is known of it (%#)', async (known, next, outcomes) => {
    await using world = await DeliveryWorld.open();
    world.channel.next(outcomes);
    world.delivery.start();
    await world.say('lost|words');
    await world.clock.advance(10_000);
    world.channel.arrived.length = 0;
    await world.say('next');
    await settled(world);
    // The quoted words make two parts.
    expect(world.channel.texts.join('|')).toMatch(
      new RegExp(`^An earlier message here ${known}: .*“lost\\|words”\\. ${next}\\|next$`, 'u'),
    );
  });

  test('may have left, when it waited across a power loss and then expired', async () => {
    await using world = await DeliveryWorld.open();
    await world.say('the lost words', { expiresAt: world.clock.now() + 5_000 });
    await world.losePower();
    world.outlets.down.add('test');
    world.delivery.start();
    await world.clock.advance(5_000);
    await settled(world);
    world.outlets.down.clear();
    world.outlets.tell('test');
    await world.say('next');
    await settled(world);
    expect(world.channel.texts).toEqual([expect.stringContaining('may not have reached you'), 'next']);
  });

  test('in a thread is told in no other thread of its chat, but in its own or to the owner', async () => {
    const { world, other } = await worldWithOwner();
    await using _ = world;
    world.outlets.channels.delete('other');
    world.channel.next([failing.permanent()]);
    world.delivery.start();
    await world.say('the salary of Joe', { threadId: '7' });
    await settled(world);
    for (const threadId of ['8', undefined]) await world.say('next', threadId === undefined ? {} : { threadId });
    await settled(world);
    expect(world.channel.texts).toEqual(['next', 'next']);
    world.outlets.channels.set('other', other);
    world.outlets.tell('other');
    await world.clock.advance(600_000);
    expect(other.texts.join()).toContain('the salary of Joe');
  });

  test('in a thread that is gone is told to the owner in the same direct chat', async () => {
    await using world = await DeliveryWorld.open();
    await world.journal.inbox.accept([inboundMessage({ channel: 'test', chatId: 'home' })]);
    world.channel.next([failing.permanent()]);
    world.delivery.start();
    await world.say('the lost words', { chatId: 'home', threadId: '7' });
    await settled(world);
    await world.clock.advance(600_000);
    expect(world.channel.texts.join()).toContain('the lost words');
  });

  test('among others makes one notice of which only what is known is said', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.uncertain(), failing.permanent(), failing.permanent()]);
    world.delivery.start();
    for (const text of ['first', 'second']) await world.say(text);
    await world.clock.advance(10_000);
    await world.say('next');
    await settled(world);
    expect(world.channel.texts[0]).toMatch(
      /^2 earlier messages here may not all have reached you, the last one because: /u,
    );
  });

  test('is told to the owner in another chat, at once', async () => {
    const { world, other } = await worldWithOwner();
    await using _ = world;
    world.channel.next([failing.permanent()]);
    world.delivery.start();
    await world.say('the lost words', { chatId: '42' });
    await settled(world);
    expect(other.texts).toEqual([
      'A message for test (chat 42) did not arrive: blocked by the user. It began: “the lost words”. See `npm run assistant -- status` for the state of the channels.',
    ]);
    await world.say('next', { chatId: '42' });
    expect(world.channel.texts).toEqual(['next']);
  });

  test('is told elsewhere as one that may have arrived when nobody can tell', async () => {
    const { world, other } = await worldWithOwner();
    await using _ = world;
    world.channel.next([failing.uncertain(), failing.uncertain()]);
    world.delivery.start();
    await world.say('the lost words', { chatId: '42' });
    await world.clock.advance(10_000);
    await settled(world);
    expect(other.texts).toEqual([
      'A message for test (chat 42) may not have arrived: it was sent twice and never confirmed. It began: “the lost words”. See `npm run assistant -- status` for the state of the channels.',
    ]);
  });

  test('is told too when it expired while its channel was down', async () => {
    const { world, other } = await worldWithOwner();
    await using _ = world;
    world.outlets.down.add('test');
    world.delivery.start();
    await world.say('too late', { expiresAt: world.clock.now() + 5_000 });
    await world.clock.advance(5_000);
    await settled(world);
    expect(other.texts).toEqual([expect.stringContaining('it could not be sent in time. It began: “too late”')]);
  });

  test('makes one notice with the others that end within ten minutes', async () => {
    const { world, other } = await worldWithOwner();
    await using _ = world;
    world.delivery.start();
    for (let n = 0; n < 30; n += 1) {
      world.channel.next([failing.permanent()], `c${n}`);
      await world.say(`lost ${n}`, { chatId: `c${n}` });
    }
    await settled(world);
    expect(other.texts).toHaveLength(1);
    await world.clock.advance(600_000);
    await settled(world);
    expect(other.texts).toHaveLength(2);
    expect(other.texts[1]).toContain('29 messages for test (chat c1)');
    expect(other.texts[1]).toContain('24 other chats');
  });

  test('is still told after a crash between its end and the notice', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.permanent()]);
    world.delivery.start();
    await world.say('the lost words');
    await settled(world);
    await world.restart();
    world.delivery.start();
    await world.say('next');
    await settled(world);
    expect(world.channel.texts).toEqual([expect.stringContaining('“the lost words”'), 'next']);
  });

  test.each([
    ['the reply to a command', { turnId: 't1', metadata: {} }],
    ['a reminder', { metadata: { job: 'j1' } }],
  ])('may be %s', async (_what, message) => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.permanent()]);
    world.delivery.start();
    await world.say('lost', { kind: 'notice', ...message });
    await world.say('next');
    await settled(world);
    expect(world.channel.texts).toEqual([expect.stringContaining('“lost”'), 'next']);
  });

  test('may be the reply to a /stop', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.uncertain(), failing.uncertain()]);
    world.delivery.start();
    await world.journal.inbox.accept([inboundMessage({ channel: 'test', chatId: 'chat', text: '/stop' })]);
    await world.clock.advance(10_000);
    await world.say('next');
    await settled(world);
    expect(world.channel.texts).toEqual([
      expect.stringMatching(/may not have reached you: .*“Nothing is running here\.”/u),
      'next',
    ]);
  });

  test('leads to no notice about the notice: that one is told in the chat of the answer only', async () => {
    const { world, other } = await worldWithOwner();
    await using _ = world;
    world.channel.next([failing.permanent()]);
    other.next(Array.from({ length: 50 }, () => failing.permanent()));
    world.delivery.start();
    await world.say('the lost words');
    await settled(world);
    await world.clock.advance(DAY);
    await settled(world);
    expect(other.attempts).toHaveLength(1);
    await world.say('next');
    await settled(world);
    expect(world.channel.texts).toEqual([expect.stringContaining('“the lost words”'), 'next']);
  });

  test('is not told where others read along, when one person alone might see it', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.permanent()]);
    world.delivery.start();
    await world.say('the private words', { kind: 'notice', turnId: 'T', metadata: { onlyTo: 'ann' } });
    await world.say('next');
    await settled(world);
    expect(world.channel.texts).toEqual(['next']);
  });

  test('is not told when somebody stopped it', async () => {
    await using world = await DeliveryWorld.open();
    const asked = inboundMessage({ channel: 'test', chatId: 'chat' });
    await world.journal.inbox.accept([asked]);
    await world.journal.turns.claim({ id: 't', session: asked.sessionKey, role: 'owner', messages: [asked] });
    await world.say('cancelled', { turnId: 't' });
    await world.journal.inbox.accept([inboundMessage({ channel: 'test', chatId: 'chat', text: '/stop' })]);
    world.delivery.start();
    await world.say('next');
    await settled(world);
    expect(world.channel.texts).toEqual([expect.stringMatching(/^Stopped/u), 'next']);
  });
});

describe('a channel that was switched off', () => {
  test('keeps its messages until they expire, as any other, and then they are told of', async () => {
    const { world, other } = await worldWithOwner();
    await using _ = world;
    world.delivery.start();
    const id = await world.say('for nobody', { channel: 'gone', chatId: '7', expiresAt: world.clock.now() + DAY });
    await world.clock.advance(DAY - 1);
    expect(world.state(id)).toBe('pending');
    await world.clock.advance(1);
    await settled(world);
    expect(world.state(id)).toBeUndefined();
    expect(other.texts).toEqual([expect.stringContaining('A message for gone (chat 7) did not arrive')]);
  });

  test('costs no later start anything once they expired', async () => {
    await using world = await DeliveryWorld.open();
    world.delivery.start();
    await world.say('for nobody', { channel: 'gone', expiresAt: world.clock.now() + HOUR });
    await world.restart();
    await world.clock.advance(2 * HOUR);
    world.delivery.start();
    await settled(world);
    await world.restart();
    expect(world.journal.outbox.page(0, 10)).toEqual([]);
  });
});

describe('a message at which the program fails', () => {
  test('goes out plain at the third time, and its chat goes on', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.unrenderable = { text: /poison/u, error: new TypeError('cannot read properties of undefined') };
    world.delivery.start();
    await world.say('*poison*');
    await world.say('next');
    await world.clock.advance(3_000);
    await settled(world);
    expect(world.channel.texts).toEqual(['(plain) *poison*', 'next']);
    expect(world.channel.rendered).toBe(4);
    expect(world.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  test('ends with a notice when it cannot be sent plain either', async () => {
    await using world = await DeliveryWorld.open();
    const error = new TypeError('broken');
    world.channel.unrenderable = { text: /^poison/u, error };
    world.channel.plain = () => {
      throw error;
    };
    world.delivery.start();
    await world.say('poison');
    await world.clock.advance(10_000);
    await world.say('next');
    await settled(world);
    expect(world.channel.texts).toEqual([
      expect.stringContaining('An earlier message here did not reach you: an error inside the assistant: broken.'),
      'next',
    ]);
    expect(world.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  test('is not given up because the journal cannot be read for a while', async () => {
    await using world = await DeliveryWorld.open();
    const { outbox } = world.journal;
    const open = outbox.open.bind(outbox);
    outbox.open = () => {
      throw Object.assign(new Error('disk I/O error'), { code: 'ERR_SQLITE_ERROR', errcode: 10 });
    };
    world.delivery.start();
    await world.say('patience');
    await world.clock.advance(60_000);
    outbox.open = open;
    await world.clock.advance(2_000);
    expect(world.channel.texts).toEqual(['patience']);
    expect(world.log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });
});

describe('a clock that is put back', () => {
  test.each([
    ['a retry', failing.retryable(), 1_000],
    ['a wait that the platform asked for', failing.retryable(17_000), 17_000],
    ['a marked resend', failing.uncertain(), 2_000],
  ])('does not delay %s', async (_what, failure, waitMs) => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failure]);
    world.delivery.start();
    await world.say('hello');
    world.clock.jump(-6 * HOUR);
    await world.clock.advance(waitMs);
    await settle();
    expect(world.channel.arrived).toHaveLength(1);
  });

  test('before a restart delays what was planned by the longest wait between two tries at most', async () => {
    await using world = await DeliveryWorld.open();
    world.channel.next([failing.retryable()]);
    world.delivery.start();
    await world.say('hello');
    await world.restart();
    world.clock.jump(-6 * HOUR);
    world.delivery.start();
    await world.clock.advance(60_000);
    await settle();
    expect(world.channel.texts).toEqual(['hello']);
  });

  test('keeps nobody from being told that their chat is full', async () => {
    await using world = await DeliveryWorld.open();
    world.delivery.start();
    const flood = (): Promise<unknown> =>
      world.journal.inbox.accept(
        Array.from({ length: 60 }, (_, n) => inboundMessage({ channel: 'test', text: `m${n}` })),
      );
    await flood();
    await settled(world);
    world.clock.jump(-6 * HOUR);
    await world.clock.advance(600_000);
    await flood();
    await settled(world);
    expect(world.channel.texts.filter((text) => text.startsWith('Too many messages'))).toHaveLength(2);
  });
});

describe('a clock that is put forward by a month', () => {
  test('during an outage costs no message that waits for its end', async () => {
    await using world = await DeliveryWorld.open();
    world.outlets.down.add('test');
    world.delivery.start();
    for (const text of ['first', 'second']) await world.say(text, { expiresAt: world.clock.now() + DAY });
    await settle();
    world.clock.jump(30 * DAY);
    await world.clock.advance(60_000);
    world.outlets.down.clear();
    world.outlets.tell('test');
    await settled(world);
    expect(world.channel.texts).toEqual(['first', 'second']);
  });

  test('lets a message expire when its time has really passed', async () => {
    await using world = await DeliveryWorld.open();
    world.outlets.down.add('test');
    world.delivery.start();
    await world.say('first', { expiresAt: world.clock.now() + HOUR });
    world.clock.jump(-DAY);
    await world.clock.advance(HOUR + 1);
    world.outlets.down.clear();
    world.outlets.tell('test');
    await settled(world);
    expect(world.channel.texts).toEqual([]);
  });
});
