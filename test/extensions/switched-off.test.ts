import { expect, test } from 'vitest';
import { failureOf } from '../config/temporary-home.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

test('an extension that is switched off is not there, and says so where it is asked for', async () => {
  const world = await startWorld({ config: { extensions: { cron: false, memory: false } } });
  try {
    world.model.reply('hi');
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).length === 1);
    expect(world.model.requests[0]?.view.tools).not.toContain('cron');
    expect(world.model.requests[0]?.view.tools).not.toContain('memory_write');
    world.telegram.userSays(OWNER, '/cron');
    await waitFor(() => chatOf(world).length === 2);
    expect(chatOf(world)[1]).toContain('There is no command /cron.');
    const { message } = await failureOf(world.assistant.request('cron', { action: 'list' }));
    expect(message).toBe('cron is switched off (extensions.cron in the configuration).');
  } finally {
    await world[Symbol.asyncDispose]();
  }
});
