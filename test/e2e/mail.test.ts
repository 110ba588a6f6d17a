import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const outbox = (world: World) => world.assistant.call('outboxList', {});
const blocked = { status: 403, description: 'Forbidden: bot was blocked by the user' };

describe('the outbox', () => {
  test('shows what did not get there and why; it can be sent again, once', async () => {
    await using world = await startWorld();
    world.model.reply('The answer.');
    world.telegram.faultNext('sendMessage', blocked);
    world.telegram.userSays(OWNER, 'hi');
    await waitFor(async () => (await outbox(world)).some(({ state }) => state === 'dead'), { what: 'a dead letter' });
    const [dead] = await outbox(world);
    expect(dead).toMatchObject({
      state: 'dead',
      chat: '42',
      text: 'The answer.',
      reason: expect.stringContaining('blocked'),
    });
    await world.assistant.call('outboxRetry', { id: dead?.id ?? '' });
    await waitFor(() => chatOf(world).includes('The answer.'));
    await waitFor(async () => (await outbox(world)).length === 0, { what: 'an empty outbox' });
    await expect(world.assistant.call('outboxRetry', { id: dead?.id ?? '' })).rejects.toThrow('There is no message');
    expect(chatOf(world)).toEqual(['The answer.']);
  });

  test('gives up what waits when it is dropped', async () => {
    await using world = await startWorld();
    world.model.reply('The answer.');
    world.telegram.faultNext('sendMessage', { status: 429, retryAfter: 1 }, 1);
    world.telegram.userSays(OWNER, 'hi');
    await waitFor(async () => (await outbox(world)).some(({ reason }) => reason !== null), { what: 'a waiting row' });
    await world.assistant.call('outboxDrop', { id: (await outbox(world))[0]?.id ?? '' });
    expect(await outbox(world)).toMatchObject([{ state: 'dead', reason: 'dropped by the owner' }]);
    world.model.reply('Another.');
    world.telegram.userSays(OWNER, 'and now?');
    await waitFor(() => chatOf(world).includes('Another.'));
    expect(chatOf(world)).toEqual(['Another.']);
  });
});

describe('the inbox', () => {
  test('shows what waits; what is dropped gets no turn, and one after all when it is let in again', async () => {
    await using world = await startWorld({ config: { agent: { whenBusy: 'queue' } } });
    const gate = Promise.withResolvers<void>();
    world.model.setHandler(async ({ view }) => {
      await gate.promise;
      return `You said: ${view.lastUserText.split('\n').at(-1)}`;
    });
    world.telegram.userSays(OWNER, 'one');
    await waitFor(() => world.model.inFlight === 1);
    world.telegram.userSays(OWNER, 'two');
    await waitFor(async () => (await world.assistant.call('inboxList', {})).length === 2);
    const [waiting, running] = await world.assistant.call('inboxList', {});
    expect([waiting, running]).toMatchObject([
      { state: 'accepted', text: 'two', who: 'Person' },
      { state: 'running', text: 'one' },
    ]);
    await world.assistant.call('inboxDrop', { id: waiting?.id ?? '' });
    gate.resolve();
    await waitFor(() => chatOf(world).includes('You said: one'));
    expect(await world.assistant.call('inboxList', {})).toMatchObject([{ state: 'refused', text: 'two' }]);
    await world.assistant.call('inboxRetry', { id: waiting?.id ?? '' });
    await waitFor(() => chatOf(world).includes('You said: two'));
    await waitFor(async () => (await world.assistant.call('inboxList', {})).length === 0);
  });
});
