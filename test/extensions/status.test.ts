import { expect, test } from 'vitest';
import { defineExtension, EXTENSIONS } from '../../src/app.ts';
import { startWorld } from '../support/world.ts';

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

test('an extension that never says how it is holds up nobody who looks at the health', async () => {
  const silent = defineExtension({ name: 'silent', troubles: () => new Promise(() => {}) });
  const tank = defineExtension({ name: 'tank', troubles: () => ['The tank leaks.'] });
  await using world = await startWorld({ extensions: [...EXTENSIONS, silent, tank] });
  const { warnings } = await world.assistant.call('health', {});
  expect(warnings).toContain('The tank leaks.');
  expect(warnings).toContain('The extension silent does not say how it is: it took longer than 2000 ms.');
});

test('`assistant status`, the start and the health have one list, with what extensions say of themselves', async () => {
  const tank = defineExtension({ name: 'tank', troubles: () => ['The tank leaks.'] });
  const rude = defineExtension({
    name: 'rude',
    troubles: () => {
      throw new Error('no gauge');
    },
  });
  const valve = defineExtension({
    name: 'valve',
    troubles: () => [
      { id: 'valve.open', state: 'failed', says: 'The valve is open.', remedy: 'close it', lead: 'Run' },
    ],
  });
  await using world = await startWorld({ extensions: [...EXTENSIONS, rude, tank, valve] });
  const { findings, warnings } = await world.assistant.call('info', {});
  expect(warnings).toContain('The tank leaks.');
  expect(warnings).toContain('The valve is open. Run: close it');
  expect(findings.map(({ id }) => id)).toContain('valve.open');
  expect((await world.assistant.call('health', {})).warnings).toEqual(warnings);
});
