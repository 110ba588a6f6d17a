import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { failureOf } from '../config/temporary-home.ts';
import { runCommand } from '../support/command-run.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

const WATER = fileURLToPath(new URL('../../examples/water', import.meta.url));

test('the plugin of the tutorial has 60 lines; it is installed, switched off and removed, and what it kept is forgotten', async () => {
  expect((await readFile(join(WATER, 'index.ts'), 'utf8')).trim().split('\n').length).toBeLessThanOrEqual(60);
  await using world = await startWorld();
  const command = async (...words: readonly string[]): Promise<string> => {
    const { code, out, err } = await runCommand(words, world.home);
    expect(code, err).toBe(0);
    return out;
  };
  await command('plugins', 'add', WATER, '--yes');
  await command('config', 'set', 'water.goal', '3');
  await world.restart();
  world.model.reply({ calls: [{ name: 'drink', arguments: { note: 'lemonade' } }] }, 'Noted.');
  world.telegram.userSays(OWNER, 'I drank a glass');
  await waitFor(() => chatOf(world).length === 1);
  expect(world.model.requests[0]?.view.system).toContain('# Water\n\n0 of 3 glasses today');
  expect(await world.assistant.call('water' as 'info', {})).toEqual({ today: 1, goal: 3 });
  expect((await world.assistant.run('/water')).text).toContain('1 of 3 glasses today');
  expect(await command('water')).toBe('Drink!\n');
  await command('config', 'set', 'extensions.water', 'false');
  await world.restart();
  const { message } = await failureOf(world.assistant.call('water' as 'info', {}));
  expect(message).toBe('water is switched off (extensions.water in the configuration).');
  await world.assistant[Symbol.asyncDispose]();
  await command('memory', 'forget', 'lemonade', '--yes');
  using db = new DatabaseSync(homePaths(world.home).state);
  expect(db.prepare('SELECT note FROM water_glass').all()).toEqual([{ note: '[forgotten]' }]);
  await command('plugins', 'remove', 'water', '--yes');
  expect(await command('plugins', 'list')).not.toContain('water');
});
