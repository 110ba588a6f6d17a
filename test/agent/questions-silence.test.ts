import { describe, expect, test } from 'vitest';
import type { InboundMessage } from '../../src/core/bus/messages.ts';
import { inboundMessage } from '../support/inbound.ts';
import { openQuestionsWorld } from '../support/questions-world.ts';
import { settle } from '../support/virtual-clock.ts';

const REQUEST = { title: 'Run a command', detail: 'ls', reason: 'It asks.', hash: 'h1' };
const TEN_MINUTES = 600_000;

describe('a terminal that does not answer', () => {
  test('means no after ten minutes', async () => {
    await using world = await openQuestionsWorld();
    const questions = world.start();
    using _attached = questions.attach('telegram:42', () => new Promise(() => {}));
    const answer = questions.approve(world.call(), REQUEST);
    await settle();
    await world.clock.advance(TEN_MINUTES + 1);
    expect(await Promise.race([answer, settle().then(() => 'still waiting')])).toMatchObject({ approved: false });
  });

  test('because it went away means no', async () => {
    await using world = await openQuestionsWorld();
    const questions = world.start();
    using _attached = questions.attach('telegram:42', () => Promise.reject(new Error('the connection broke')));
    expect(await questions.approve(world.call(), REQUEST)).toMatchObject({ approved: false });
  });

  test('is not asked any more once it left', async () => {
    await using world = await openQuestionsWorld();
    const questions = world.start();
    questions.attach('telegram:42', async () => true)[Symbol.dispose]();
    void questions.approve(world.call(), REQUEST).catch(() => {});
    await settle();
    expect(world.journal.questions.get('t.1')?.state).toBe('waiting');
  });
});

describe('a question that is given up', () => {
  test('is a no, also for the call that asks again', async () => {
    await using world = await openQuestionsWorld();
    const questions = world.start();
    const answer = questions.approve(world.call(), REQUEST);
    await settle();
    await world.sends({ text: '/stop' });
    questions.cancelled('telegram:42');
    expect(await answer).toEqual({ approved: false, reason: 'the question was cancelled' });
    expect(await world.start().approve(world.call(), REQUEST)).toMatchObject({ approved: false });
  });

  test('because what it was about changed cannot be answered any more', async () => {
    await using world = await openQuestionsWorld();
    void world
      .start()
      .approve(world.call(), REQUEST)
      .catch(() => {});
    await settle();
    expect(await world.start().approve(world.call(), { ...REQUEST, hash: 'h2' })).toMatchObject({ approved: false });
    await world.sends({ text: '/approve' });
    expect(world.taken).toMatchObject([{ callId: null }]);
    expect(world.journal.questions.get('t.1')?.state).toBe('cancelled');
  });
});

describe('who is asked', () => {
  const askedIn = async (
    target: Partial<InboundMessage>,
    before: readonly Partial<InboundMessage>[] = [],
  ): Promise<string | undefined> => {
    await using world = await openQuestionsWorld();
    for (const message of before) await world.sends(message);
    void world
      .start()
      .approve(world.call({ target: inboundMessage(target) }), REQUEST)
      .catch(() => {});
    await settle();
    return world.sent()[0]?.[0];
  };

  test('is the owner, in the chat of the turn where that is their own', async () => {
    expect(await askedIn({ chatId: '42', role: 'owner' })).toBe('42');
  });

  test('is not the guest or the trusted person for whom the turn is', async () => {
    expect(await askedIn({ chatId: '43', role: 'trusted' })).toBe('42');
    expect(await askedIn({ chatId: '44', role: 'guest' })).toBe('42');
  });

  test('is a group only once an owner wrote there', async () => {
    const group = { chatId: '-100', chatType: 'group' } as const;
    expect(await askedIn({ ...group, role: 'guest' })).toBe('42');
    expect(await askedIn({ ...group, role: 'guest' }, [{ ...group, role: 'guest' }])).toBe('42');
    expect(await askedIn({ ...group, role: 'guest' }, [{ ...group, role: 'owner' }])).toBe('-100');
  });

  test('is not whoever wrote alone last: only an owner’s chat counts', async () => {
    const guest = { chatId: '44', role: 'guest', text: 'hi' } as const;
    expect(await askedIn({ chatId: '43', role: 'trusted' }, [guest])).toBe('42');
  });

  test('is not a group in which the owner wrote last, for a turn elsewhere', async () => {
    const group = { chatId: '-100', chatType: 'group', role: 'owner' } as const;
    expect(await askedIn({ chatId: '43', role: 'trusted' }, [group])).toBe('42');
  });
});
