import { rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
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
      const { warnings } = await world.assistant.request('health', {});
      expect(warnings).toContainEqual(expect.stringContaining(`${path} was lost or emptied`));
    }
    expect(chatOf(world).filter((text) => text.includes('was lost or emptied'))).toHaveLength(1);
  },
);
