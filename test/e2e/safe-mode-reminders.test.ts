import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

test('a reminder with a fixed text is sent in safe mode, and a task waits', async () => {
  await using world = await startWorld();
  const add = (given: object): object => ({
    calls: [{ name: 'cron', arguments: { action: 'add', when: 'in 8 seconds', ...given } }],
  });
  world.model.reply(add({ text: 'Pills!' }), 'Noted.', add({ kind: 'agent', text: 'Look at the weather.' }), 'Set.');
  world.telegram.userSays(OWNER, 'remind me of my pills');
  await waitFor(() => chatOf(world).includes('Noted.'), { what: 'the first answer' });
  world.telegram.userSays(OWNER, 'and look at the weather');
  await waitFor(() => chatOf(world).includes('Set.'), { what: 'the second answer' });
  await world.assistant[Symbol.asyncDispose]();
  {
    using db = new DatabaseSync(join(world.home, 'state.db'));
    db.exec("INSERT OR REPLACE INTO opened (id, boot, lost) VALUES (1, 'killed', 0)");
    writeFileSync(homePaths(world.home).starts, Array.from({ length: 6 }, () => Date.now()).join(' '));
  }
  const asked = world.model.requests.length;
  await world.restart();
  await waitFor(() => chatOf(world).some((text) => text.includes('Pills!')), {
    timeoutMs: 20_000,
    what: 'the reminder',
  });
  expect(chatOf(world).some((text) => /I am in safe mode/u.test(text))).toBe(true);
  expect(world.model.requests).toHaveLength(asked);
});
