import { expect, test } from 'vitest';
import { EXTENSIONS } from '../../src/app.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';
import water from './water.ts';

test('an extension of somebody else has settings, a table, a tool, a command, an operation and a layer of the prompt', async () => {
  const world = await startWorld({ extensions: [...EXTENSIONS, water], config: { water: { goal: 3 } } });
  try {
    world.model.reply({ calls: [{ name: 'drink', arguments: {} }] }, 'Noted.');
    world.telegram.userSays(OWNER, 'I drank a glass');
    await waitFor(() => chatOf(world).length === 1);
    expect(world.model.requests[0]?.view.system).toContain('# Water\n\n0 of 3 glasses today');
    expect(await world.assistant.request('water' as 'info', {})).toEqual({ today: 1, goal: 3 });
    world.telegram.userSays(OWNER, '/water');
    await waitFor(() => chatOf(world).length === 2);
    expect(chatOf(world)[1]).toContain('1 of 3 glasses today');
  } finally {
    await world[Symbol.asyncDispose]();
  }
});
