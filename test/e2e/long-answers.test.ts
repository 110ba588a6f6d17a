import { describe, expect, test } from 'vitest';
import { postsIn, startDiscordWorld } from '../support/discord-world.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

const LINE = 'All work and no play makes Jack a dull boy, over and over again.';
const ENDLESS = `${Array.from({ length: 1_200 }, (_, n) => `${n}. ${LINE}`).join('\n')}\nThe very end.`;

describe('an endless answer', () => {
  test('is a few messages and a file of the whole on Telegram', async () => {
    await using world = await startWorld();
    world.model.reply(ENDLESS, 'Short again.');
    world.telegram.userSays(OWNER, 'write on');
    await waitFor(() => chatOf(world).some((text) => text.includes('answer.md]')), { what: 'the file' });
    expect(chatOf(world).length).toBeLessThanOrEqual(11);
    expect(chatOf(world).join('\n')).toContain('0. All work');
    expect(chatOf(world).at(-2)).toContain('The answer goes on: all of it is in the file answer.md.');
    expect(JSON.stringify(world.telegram.calls.filter(({ method }) => method === 'sendDocument'))).not.toBe('[]');
    world.telegram.userSays(OWNER, 'and now?');
    await waitFor(() => chatOf(world).at(-1) === 'Short again.');
  });

  test.each(['```', '~~~~'])('that is code says outside of the code (%s) where the rest is', async (fence) => {
    await using world = await startWorld();
    world.model.reply({ text: `Here:\n${fence}js\n${ENDLESS}\n${fence}\nThe end.`, chunkSize: 4_000 });
    world.telegram.userSays(OWNER, 'write on');
    await waitFor(() => chatOf(world).some((text) => text.includes('answer.md]')), { what: 'the file' });
    const last = world.telegram.sentMessages.findLast(({ text }) => text.includes('The answer goes on'))?.text ?? '';
    expect(last).toMatch(/<\/code><\/pre>\s*The answer goes on: [^<]*$/u);
  });

  test('is a few messages and a file of the whole on Discord', async () => {
    await using discord = await startDiscordWorld();
    discord.model.reply(ENDLESS);
    discord.discord.sends(discord.direct, discord.owner, 'write on');
    await waitFor(() => postsIn(discord, discord.direct).some(({ files }) => files.length > 0), { what: 'a file' });
    expect(postsIn(discord, discord.direct).length).toBeLessThanOrEqual(11);
  });

  test('a long answer that fits in a few messages stays as it is', async () => {
    await using world = await startWorld();
    const long = `${Array.from({ length: 300 }, (_, n) => `${n}. ${LINE}`).join('\n')}\nThe very end.`;
    world.model.reply(long);
    world.telegram.userSays(OWNER, 'write on');
    await waitFor(() => chatOf(world).join('\n').includes('The very end.'));
    expect(chatOf(world).join('\n')).not.toContain('answer.md');
  });
});
