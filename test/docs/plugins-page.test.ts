import { join } from 'node:path';
import { expect, test } from 'vitest';
import { apiOf } from '../support/api-world.ts';
import { runCommand } from '../support/command-run.ts';
import { filesOfPage, writePage } from '../support/page-package.ts';
import { startWorld } from '../support/world.ts';

test('the plugin of docs/plugins.md is added by its command, and each of its parts works', async () => {
  expect([...(await filesOfPage('plugins.md')).keys()]).toEqual(['package.json', 'index.js']);
  await using api = await apiOf(await startWorld());
  const { world } = api;
  const folder = join(world.home, '..', 'dice-plugin');
  await writePage('plugins.md', folder);
  const added = await runCommand(['plugins', 'add', folder, '--yes', '--home', world.home], world.home);
  expect(added.out).toContain('dice-plugin 1.0.0: Rolls dice.');
  expect(added.out).toContain('Added dice-plugin. It is running.');

  const { assistant, model } = world;
  expect((await assistant.run('/roll 1')).text).toBe('You rolled **1**.');
  expect((await assistant.run('/help all')).text).toContain('/roll: roll a die, such as /roll 20');

  model.reply({ calls: [{ name: 'roll_dice', arguments: { sides: 2 } }] }, 'Rolled.');
  await assistant.run('roll one');
  expect(model.requests.at(-1)?.view.toolResults.at(-1)?.text).toMatch(/\n[12]$/u);

  await assistant.run('/model echo/any', { session: 'echo' });
  expect((await assistant.run('good day', { session: 'echo' })).text).toBe('You said: good day');
  await assistant.run('/model default', { session: 'echo' });

  const answer = await api.ask('/plugins/dice-plugin/roll');
  expect(await answer.json()).toEqual({ rolled: expect.any(Number) });
});
