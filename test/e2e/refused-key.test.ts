import { expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

test('a refused key names the setting that was used; a corrected one counts at once', async () => {
  await using world = await startWorld();
  world.model.reply({ error: { status: 401, message: 'Incorrect API key' } });
  world.telegram.userSays(OWNER, 'hi');
  await waitFor(() => chatOf(world).length === 1);
  expect(chatOf(world)[0]).toBe('openai refused the API key. Correct providers.openai.apiKey, then send /retry.');
});
