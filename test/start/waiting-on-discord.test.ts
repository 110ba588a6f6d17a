import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reads, startDiscordWorld, textsIn } from '../support/discord-world.ts';
import { fillUp, mountSmallDisk, whyNoSmallDisks } from '../support/small-disk.ts';
import { waitFor } from '../support/wait.ts';

describe.skipIf(whyNoSmallDisks() !== null)('a start that waits for its disk', { timeout: 120_000 }, () => {
  test('says so once on Discord, and answers there when there is room', async () => {
    await using stack = new AsyncDisposableStack();
    let disk: Disposable | undefined;
    const world = await startDiscordWorld({
      furnish: async (home) => {
        const config = await readFile(join(home, 'config.json'));
        disk = mountSmallDisk(home, 24);
        await mkdir(join(home, 'workspace'), { mode: 0o700 });
        await writeFile(join(home, 'config.json'), config, { mode: 0o600 });
      },
    });
    stack.use(world);
    stack.defer(async () => {
      await world.assistant[Symbol.asyncDispose]();
      disk?.[Symbol.dispose]();
    });
    world.model.reply('Hello.', 'Here again.');
    world.discord.sends(world.direct, world.owner, 'hi');
    await reads(world, world.direct, 'Hello.');
    await world.assistant[Symbol.asyncDispose]();
    await fillUp(join(world.home, 'ballast'));
    const restarted = world.restart();
    const notices = (): readonly string[] =>
      textsIn(world, world.direct).filter((text) => text.includes('I cannot start before that.'));
    await waitFor(() => notices().length > 0, { what: 'the notice' });
    await rm(join(world.home, 'ballast'));
    await restarted;
    world.discord.sends(world.direct, world.owner, 'are you there?');
    await reads(world, world.direct, 'Here again.');
    expect(notices()).toEqual([expect.stringMatching(/is full.*Your messages stay with the chat platform/su)]);
  });
});
