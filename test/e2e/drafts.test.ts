import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const ANSWER = `It **begins**. ${'A sentence of the answer. '.repeat(14)}It ends.`.trim();
const VISIBLE = ANSWER.replaceAll('*', '');
const GROUP = -100;
/** About four seconds. */
const slowly = (text: string): object => ({ text, chunkSize: 10, eventDelayMs: 100 });
const callsOf = (world: World, method: string): number =>
  world.telegram.calls.filter((call) => call.method === method).length;
const ended = (world: World, chatId = OWNER): Promise<unknown> =>
  waitFor(() => chatOf(world, chatId).includes(VISIBLE), { what: 'the whole answer' });

describe.concurrent('where a Telegram server knows of drafts, an answer', () => {
  test('is a draft while it is written, and one message in the end that nobody edited', async () => {
    await using world = await startWorld({ server: { drafts: true } });
    world.model.reply(slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await ended(world);
    const { drafts } = world.telegram;
    expect(drafts.length).toBeGreaterThanOrEqual(2);
    for (const { visibleText } of drafts) expect(VISIBLE.startsWith(visibleText)).toBe(true);
    expect(new Set(drafts.map(({ draftId }) => draftId)).size).toBe(1);
    const gaps = drafts.slice(1).map(({ at }, n) => at - (drafts[n]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(1_000);
    expect([chatOf(world), callsOf(world, 'sendMessage'), callsOf(world, 'editMessageText')]).toEqual([
      [VISIBLE],
      1,
      0,
    ]);
  });

  test('is a draft of its own each time', async () => {
    await using world = await startWorld({ server: { drafts: true } });
    world.model.reply(slowly(ANSWER), slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await ended(world);
    world.telegram.userSays(OWNER, 'and again');
    await waitFor(() => chatOf(world).length === 2);
    expect(new Set(world.telegram.drafts.map(({ draftId }) => draftId)).size).toBe(2);
  });

  test('shows as a draft what a tool is doing', async () => {
    const exec = { mode: 'full', sandbox: 'off' };
    await using world = await startWorld({ server: { drafts: true }, config: { tools: { exec } } });
    const wait = { name: 'exec', arguments: { command: 'sleep 2.5' } };
    world.model.reply({ ...slowly(ANSWER.slice(0, 150)), calls: [wait] }, 'Done with it.');
    world.telegram.userSays(OWNER, 'wait a moment');
    await waitFor(() => chatOf(world).length === 1);
    expect(world.telegram.drafts.some(({ visibleText }) => visibleText.endsWith('⋯ exec sleep 2.5'))).toBe(true);
    expect(chatOf(world)).toEqual(['Done with it.']);
  });

  test('that a restart cut off leaves nothing behind, and comes once', async () => {
    await using world = await startWorld({ server: { drafts: true } });
    world.model.reply(slowly(ANSWER), slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await waitFor(() => world.telegram.drafts.length > 0);
    await world.restart();
    await ended(world);
    expect(chatOf(world)).toEqual([VISIBLE]);
  });

  test('arrives also when no draft does', async () => {
    await using world = await startWorld({ server: { drafts: true } });
    world.telegram.setFaultHandler(({ method }) => (method === 'sendMessageDraft' ? { status: 500 } : undefined));
    world.model.reply(slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await ended(world);
    expect([chatOf(world), world.telegram.drafts]).toEqual([[VISIBLE], []]);
  });

  test('is a message that grows in a group, where there are no drafts', async () => {
    const telegram = { groups: { debounceMs: 0 } };
    await using world = await startWorld({ server: { drafts: true }, config: { channels: { telegram } } });
    world.model.reply(slowly(ANSWER));
    const entities = [{ type: 'mention', offset: 0, length: 9 }];
    world.telegram.userSays(GROUP, '@test_bot tell us', { entities, from: { id: OWNER } });
    await ended(world, GROUP);
    expect(world.telegram.drafts).toEqual([]);
    expect(callsOf(world, 'editMessageText')).toBeGreaterThanOrEqual(2);
  });
});

test('a server that knows of no drafts is asked once in a chat, and the answer is a message that grows', async () => {
  await using world = await startWorld();
  world.model.reply(slowly(ANSWER), slowly(ANSWER));
  world.telegram.userSays(OWNER, 'tell me');
  await ended(world);
  world.telegram.userSays(OWNER, 'and again');
  await waitFor(() => chatOf(world).length === 2);
  await waitFor(() => chatOf(world)[1] === VISIBLE);
  expect(callsOf(world, 'sendMessageDraft')).toBe(1);
  expect(callsOf(world, 'editMessageText')).toBeGreaterThanOrEqual(2);
});
