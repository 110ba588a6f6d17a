import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CHATS, homeOf, sayIn, startAgentsWorld } from '../../support/agents-world.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER } from '../../support/world.ts';

describe.concurrent('several assistants on one bot', () => {
  test('each answers in its own chat, from its own home', async () => {
    await using world = await startAgentsWorld();
    world.model.setHandler(
      (request) =>
        `I read: ${JSON.stringify(request.body).includes('to-kim') ? 'kim' : JSON.stringify(request.body).includes('to-lou') ? 'lou' : 'main'}`,
    );
    world.telegram.userSays(OWNER, 'to-main');
    sayIn(world, CHATS.kim, 'to-kim');
    sayIn(world, CHATS.lou, 'to-lou');
    await waitFor(
      () =>
        chatOf(world).length === 1 && chatOf(world, CHATS.kim).length === 1 && chatOf(world, CHATS.lou).length === 1,
    );
    expect([chatOf(world), chatOf(world, CHATS.kim), chatOf(world, CHATS.lou)]).toEqual([
      ['I read: main'],
      ['I read: kim'],
      ['I read: lou'],
    ]);
    for (const name of ['kim', 'lou']) {
      expect(existsSync(join(homeOf(world, name), 'state.db'))).toBe(true);
      expect(existsSync(join(homeOf(world, name), 'workspace', 'SOUL.md'))).toBe(true);
    }
  });
});
