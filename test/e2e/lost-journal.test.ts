import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reads, startDiscordWorld, textsIn } from '../support/discord-world.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { settle } from '../support/virtual-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

test.each<[string, (path: string) => void]>([
  ['emptied', (path) => truncateSync(path, 0)],
  ['removed', (path) => rmSync(path)],
])(
  'a journal that was %s while the assistant was off is told once to the owner, and in the status',
  async (_, harm) => {
    await using world = await startWorld();
    world.model.setHandler(() => 'Hello.');
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).includes('Hello.'), { what: 'the answer' });
    await world.assistant[Symbol.asyncDispose]();
    const path = join(world.home, 'state.db');
    harm(path);
    for (let starts = 0; starts < 2; starts += 1) {
      await world.restart();
      await waitFor(() => chatOf(world).some((text) => text.includes(`${path} was lost or emptied`)), {
        what: 'the notice',
      });
      const { warnings } = await world.assistant.call('health', {});
      expect(warnings).toContainEqual(expect.stringContaining(`${path} was lost or emptied`));
    }
    expect(chatOf(world).filter((text) => text.includes('was lost or emptied'))).toHaveLength(1);
  },
);

test('a journal that was lost with all that told where the owner is, is told as soon as the owner writes, once', async () => {
  const clock = new SkippingClock();
  await using world = await startDiscordWorld({ clock });
  world.model.setHandler(() => 'Hello.');
  world.discord.sends(world.direct, world.owner, 'hello');
  await reads(world, world.direct, 'Hello.');
  await world.assistant[Symbol.asyncDispose]();
  rmSync(join(world.home, 'state.db'));
  await world.restart();
  clock.skip(6_000);
  world.discord.sends(world.direct, world.owner, 'hello again');
  await waitFor(() => textsIn(world, world.direct).filter((text) => text === 'Hello.').length === 2);
  clock.skip(6_000);
  const lost = /state\.db was lost or emptied/u;
  await reads(world, world.direct, lost, { timeoutMs: 10_000 });
  clock.skip(6_000);
  await world.restart();
  await settle();
  expect(textsIn(world, world.direct).filter((text) => lost.test(text))).toHaveLength(1);
});
