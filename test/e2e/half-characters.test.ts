import { describe, expect, test } from 'vitest';
import { startApi } from '../support/api-world.ts';
import { reads, startDiscordWorld } from '../support/discord-world.ts';
import { DIRECT, OWNER as SLACK_OWNER, postsIn, startSlackWorld } from '../support/slack-world.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

/** Half of an emoji, as a program writes that cuts its texts anywhere. */
const HALF = 'half \ud83d';
const WHOLE = 'half \ufffd';

function expectHeard({ model }: World): void {
  expect(model.requests[0]?.view.lastUserText).toContain(WHOLE);
}

describe('a text with half a character is read as one with a replacement character', () => {
  test('from Telegram', async () => {
    await using world = await startWorld();
    world.model.reply('Heard.', 'Again.');
    world.telegram.userSays(OWNER, HALF);
    await waitFor(() => chatOf(world).includes('Heard.'));
    expectHeard(world);
    // One of which the same half is all.
    world.telegram.userSays(OWNER, '\ud83d');
    await waitFor(() => chatOf(world).includes('Again.'));
  });

  test('from Discord', async () => {
    await using world = await startDiscordWorld();
    world.model.reply('Heard.');
    world.discord.sends(world.direct, world.owner, HALF);
    await reads(world, world.direct, 'Heard.');
    expectHeard(world);
  });

  test('from Slack', async () => {
    await using world = await startSlackWorld();
    world.model.reply('Heard.');
    world.slack.sends(SLACK_OWNER, DIRECT, HALF);
    await waitFor(() => postsIn(world).includes('Heard.'));
    expectHeard(world);
  });

  test.each(['/v1/chat/completions', '/v1/responses'])('from a program, by %s', async (path) => {
    await using api = await startApi();
    api.world.model.reply('Heard.');
    const asked = path.endsWith('responses') ? { input: HALF } : { messages: [{ role: 'user', content: HALF }] };
    const response = await api.post(path, { model: 'assistant', user: HALF, ...asked });
    expect(await response.text()).toContain('Heard.');
    expectHeard(api.world);
  });
});
