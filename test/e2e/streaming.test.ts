import { describe, expect, test } from 'vitest';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const ANSWER = `It begins. ${'A sentence of the answer. '.repeat(12)}It ends.`.trim();
/** About three seconds. */
const slowly = (text: string): object => ({ text, chunkSize: 10, eventDelayMs: 90 });

type Sent = World['telegram']['sentMessages'][number];
const sent = (world: World): readonly Sent[] => world.telegram.sentMessages.filter(({ chatId }) => chatId === OWNER);
const begun = (world: World): Promise<unknown> => waitFor(() => sent(world).length > 0, { what: 'a preview' });
const ended = (world: World, text = ANSWER): Promise<unknown> =>
  waitFor(() => chatOf(world).includes(text), { what: 'the whole answer' });

describe('an answer', () => {
  test('is shown while it is written: one message that grows, and is exact in the end', async () => {
    await using world = await startWorld();
    world.model.reply(slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await begun(world);
    await ended(world);
    expect(chatOf(world)).toEqual([ANSWER]);
    const shown = sent(world)[0]?.editedFrom ?? [];
    expect(shown.length).toBeGreaterThanOrEqual(2);
    for (const text of shown) expect(ANSWER.startsWith(text)).toBe(true);
  });

  test('is edited no more than about once a second', async () => {
    await using world = await startWorld();
    world.model.reply(slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await ended(world);
    const edits = world.telegram.calls.filter(({ method }) => method === 'editMessageText').map(({ at }) => at);
    // The last one is the answer itself, which waits for nothing.
    const gaps = edits.slice(1, -1).map((at, n) => at - (edits[n] ?? 0));
    expect(Math.min(...gaps, 1_100)).toBeGreaterThan(1_000);
  });

  test('is not shown above the answer before, which the platform has not taken yet', async () => {
    await using world = await startWorld();
    world.model.reply('The first.', slowly(ANSWER));
    world.telegram.faultNext('sendMessage', { status: 429, retryAfter: 3 });
    world.telegram.userSays(OWNER, 'tell me');
    await waitFor(() => world.telegram.calls.some(({ method }) => method === 'sendMessage'));
    world.telegram.userSays(OWNER, 'tell me more');
    await ended(world);
    expect(chatOf(world)).toEqual(['The first.', ANSWER]);
  });

  test('that comes at once is sent once, whole', async () => {
    await using world = await startWorld();
    world.model.reply('Short.');
    world.telegram.userSays(OWNER, 'tell me');
    await ended(world, 'Short.');
    expect(world.telegram.calls.filter(({ method }) => method === 'editMessageText')).toEqual([]);
  });

  test('shows what a tool is doing, and takes that line away again', async () => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'full', sandbox: 'off' } } } });
    const wait = { name: 'exec', arguments: { command: 'sleep 2.5' } };
    world.model.reply({ ...slowly(ANSWER.slice(0, 150)), calls: [wait] }, 'Done with it.');
    world.telegram.userSays(OWNER, 'wait a moment');
    await waitFor(() => chatOf(world).some((text) => text.endsWith('⋯ exec sleep 2.5')), { what: 'the status line' });
    await ended(world, 'Done with it.');
    expect(chatOf(world)).toEqual(['Done with it.']);
  });

  test('that a restart cut off goes on in the same message', async () => {
    await using world = await startWorld();
    world.model.reply(slowly(ANSWER), slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await begun(world);
    await world.restart();
    await ended(world);
    expect(chatOf(world)).toEqual([ANSWER]);
  });

  test('that is stopped stays as far as it came', async () => {
    await using world = await startWorld();
    world.model.reply(slowly(ANSWER), 'Hello.');
    world.telegram.userSays(OWNER, 'tell me');
    await begun(world);
    world.telegram.userSays(OWNER, '/stop');
    world.telegram.userSays(OWNER, 'hi');
    await ended(world, 'Hello.');
    const [first = ''] = chatOf(world);
    expect(ANSWER.startsWith(first)).toBe(true);
    expect(first).not.toBe(ANSWER);
  });

  test('that the person deleted meanwhile is sent anew', async () => {
    await using world = await startWorld();
    world.model.reply(slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await begun(world);
    world.telegram.setFaultHandler(({ method }) =>
      method === 'editMessageText' ? { status: 400, description: 'Bad Request: message to edit not found' } : undefined,
    );
    await ended(world);
    expect(chatOf(world).filter((text) => text === ANSWER)).toHaveLength(1);
  });

  test('longer than a message rolls over into more', async () => {
    await using world = await startWorld();
    const long = 'A sentence of the answer that goes on. '.repeat(150).trim();
    world.model.reply({ text: long, chunkSize: 200, eventDelayMs: 80 });
    world.telegram.userSays(OWNER, 'tell me all');
    await waitFor(() => chatOf(world).join(' ') === long, { what: 'both parts' });
    expect(chatOf(world)).toHaveLength(2);
    expect(sent(world)[0]?.editedFrom?.length).toBeGreaterThan(0);
  });

  test('is not shown while it is written where the channel says so', async () => {
    await using world = await startWorld({ config: { channels: { telegram: { stream: false } } } });
    world.model.reply(slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await ended(world);
    expect(sent(world)[0]?.editedFrom).toBeUndefined();
  });
});

describe('while a server loads its model', () => {
  const LOADING = { error: { status: 503, message: 'Loading model', type: 'unavailable_error' } };
  const TOLD = /^⋯ openai is still loading its model\. I'll answer as soon as it's ready\.$/u;

  /** A person has asked something of a model that is being loaded, and has read so. */
  async function loading() {
    const clock = new SkippingClock();
    const world = await startWorld({ clock });
    const model = { isLoading: true };
    world.model.setHandler(() => (model.isLoading ? LOADING : 'Here.'));
    world.telegram.userSays(OWNER, 'hi');
    const wait = async (): Promise<void> => {
      const before = world.model.requests.length;
      clock.skip(3_000);
      await waitFor(() => world.model.requests.length > before, { what: 'the next try' });
    };
    await waitFor(() => world.model.requests.length > 0, { what: 'the first try' });
    for (let n = 1; n <= 2; n += 1) await wait();
    expect(chatOf(world)).toEqual([]);
    for (let n = 3; n <= 8; n += 1) await wait();
    await waitFor(() => TOLD.test(chatOf(world).join()), { what: 'the sentence' });
    return { world, clock, model, wait };
  }

  test('the person reads so once, and the answer takes the place of that', async () => {
    const { world, model, wait } = await loading();
    await using _world = world;
    for (let n = 1; n <= 8; n += 1) await wait();
    expect(chatOf(world)).toHaveLength(1);
    model.isLoading = false;
    await wait();
    await ended(world, 'Here.');
    expect(chatOf(world)).toEqual(['Here.']);
  });

  test('nothing of that stays after /stop', async () => {
    const { world, clock } = await loading();
    await using _world = world;
    world.telegram.userSays(OWNER, '/stop');
    await waitFor(() => chatOf(world).length > 1, { what: 'the end' });
    clock.skip(3_000);
    await waitFor(() => !chatOf(world).some((text) => TOLD.test(text)), { what: 'the sentence to go' });
    expect(chatOf(world)).toEqual(['⋯ stopped', expect.stringContaining('topped')]);
  });

  test('nor after a restart of the gateway', async () => {
    const { world, model } = await loading();
    await using _world = world;
    model.isLoading = false;
    await world.restart();
    await ended(world, 'Here.');
    expect(chatOf(world)).toEqual(['Here.']);
  });
});
