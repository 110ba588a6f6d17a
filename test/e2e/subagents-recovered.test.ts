import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

test('after two deaths, a turn and the subagent that it waits for are resumed together', async () => {
  await using world = await startWorld();
  const task = { task: 'count the files', label: 'counting', wait: true };
  world.model.setHandler(({ view }) =>
    view.tools.includes('spawn') ? { calls: [{ name: 'spawn', arguments: task }] } : { fault: 'hang' },
  );
  world.telegram.userSays(OWNER, 'how many?');
  await waitFor(() => world.model.requests.some(({ view }) => !view.tools.includes('spawn')), { what: 'the subagent' });
  await world.assistant[Symbol.asyncDispose]();
  {
    using db = new DatabaseSync(join(world.home, 'state.db'));
    db.exec("INSERT OR REPLACE INTO opened (id, boot, lost) VALUES (1, 'killed', 0)");
    writeFileSync(homePaths(world.home).starts, Array.from({ length: 2 }, () => Date.now()).join(' '));
  }
  world.model.setHandler(({ view }) => (view.tools.includes('spawn') ? 'There are three.' : 'Three.'));
  await world.restart();
  await waitFor(() => chatOf(world).length > 0, { timeoutMs: 20_000, what: 'the answer' });
  expect(chatOf(world)).toEqual(['There are three.']);
});
