import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../../support/world.ts';

const STRANGER = 99;
const GROUP = -100;
const seconds = (at: number): number => Math.floor(at / 1_000);

let world: World;
beforeAll(async () => {
  const groups = { debounceMs: 0, botTurnsPerHour: 1, allowBots: ['77'] };
  world = await startWorld({ config: { channels: { telegram: { groups } } } });
});
afterAll(() => world[Symbol.asyncDispose]());

/** What the owner is told of a message of the group that was sent at this time. */
async function why(messageId: number, sentAt = Date.now()): Promise<string> {
  const before = chatOf(world, GROUP).length;
  const chat = { id: GROUP, type: 'group' };
  world.telegram.userSays(GROUP, '/why@test_bot', {
    from: { id: OWNER },
    entities: [{ type: 'bot_command', offset: 0, length: 13 }],
    reply_to_message: { message_id: messageId, date: seconds(sentAt), chat, text: 'x' },
  });
  const told = await waitFor(() => chatOf(world, GROUP).slice(before)[0], { what: 'the story' });
  return (told.split('\n')[0] ?? '').replace(/^About [^:]*: /u, '');
}

describe('/why in a group names what was so when the message came', () => {
  test('that it was not addressed', async () => {
    const { messageId } = world.telegram.userSays(GROUP, 'only between us', { from: { id: OWNER } });
    expect(await why(messageId)).toBe(
      'I saw it and did not answer: it did not mention me or reply to me, which groups.policy asked for.',
    );
  });

  test('that nobody had let its sender in', async () => {
    const { messageId } = world.telegram.userSays(GROUP, '@test_bot, and me?', { from: { id: STRANGER } });
    expect(await why(messageId)).toBe('I saw it and did not answer: its sender is neither in allowFrom nor paired.');
  });

  test('that its sender is another bot, or other bots had asked often enough', async () => {
    const bot = (id: number): number =>
      world.telegram.userSays(GROUP, '@test_bot beep', {
        from: { id, is_bot: true },
        entities: [{ type: 'mention', offset: 0, length: 9 }],
      }).messageId;
    expect(await why(bot(78))).toBe(
      'I saw it and did not answer: its sender is a bot that groups.allowBots does not name.',
    );
    world.model.reply('Boop.');
    bot(77);
    await waitFor(() => chatOf(world, GROUP).includes('Boop.'), { what: 'the answer to the first' });
    expect(await why(bot(77))).toBe(
      'I saw it and did not answer: other bots had begun as many turns in that hour as groups.botTurnsPerHour allows.',
    );
  });

  test('that it never came, and how the channel was then and is now', async () => {
    expect(await why(100_000, Date.now() + 1_000)).toBe(
      'I never received it. When it was sent, the channel telegram was running. The channel telegram is running now.',
    );
    expect(await why(100_000, Date.now() - 3_600_000)).toBe(
      'I never received it. In groups I take only what mentions me or replies to me, from people who are allowed. The channel telegram is running now.',
    );
  });

  test('that I was not running when it was sent', async () => {
    await world.assistant[Symbol.asyncDispose]();
    const stopped = Date.now();
    const sent = await waitFor(() => (seconds(Date.now()) > seconds(stopped) ? Date.now() : undefined), {
      what: 'the next second',
    });
    await world.restart();
    expect(await why(100_001, sent)).toBe(
      'I never received it. When it was sent, I was not running. The channel telegram is running now.',
    );
  });
});
