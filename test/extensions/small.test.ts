import { expect, test } from 'vitest';
import { defineExtension, EXTENSIONS } from '../../src/app.ts';
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

test('/status has the lines of extensions, of everything for the owner, and says which of them does not tell how it is', async () => {
  const tank = defineExtension({ name: 'tank', status: (session) => ({ Tank: session === null ? 'full' : 'hidden' }) });
  const broken = defineExtension({
    name: 'broken',
    status: () => {
      throw new Error('no gauge');
    },
  });
  const world = await startWorld({ extensions: [...EXTENSIONS, tank, broken] });
  try {
    const { text } = await world.assistant.run('/status');
    expect(text).toContain('\nTank: full\n');
    expect(text).toContain('\nbroken: it does not say how it is (no gauge)\n');
  } finally {
    await world[Symbol.asyncDispose]();
  }
});
