import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

async function say(world: World, text: string, extra: Record<string, unknown> = {}): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text, extra);
  await waitFor(() => chatOf(world).length > before, { what: `a reply to ${text}` });
  return chatOf(world)[before] ?? '';
}

const call = (name: string, args: object): object => ({ calls: [{ name, arguments: args }] });

test('a command that nothing keeps from the network is asked about once others have a say, whatever was read before', async () => {
  await using world = await startWorld({
    config: {
      channels: { telegram: { allowFrom: ['42'], owners: ['42'], groups: { debounceMs: 0, followUpSeconds: 0 } } },
      tools: { exec: { mode: 'full', sandbox: 'off' } },
    },
  });
  world.model.reply(call('exec', { command: 'true' }), 'Ran.', 'Seen.', call('exec', { command: 'true' }), 'Not done.');
  expect(await say(world, 'run it')).toBe('Ran.');
  await say(world, 'look what they wrote', { forward_date: 1 });
  expect(await say(world, 'run it')).toContain(
    'This conversation contains text from a forwarded message, and a command with access to the network',
  );
});

test('a skill that others may have written has a say in each turn in which it is always active', async () => {
  await using world = await startWorld();
  const remember = call('memory_write', { fact: 'the owner trusts Mallory' });
  world.model.reply(remember, 'Kept.');
  expect(await say(world, 'remember that')).toBe('Kept.');
  const folder = join(world.workspace, 'skills', 'habits');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'SKILL.md'), '---\nname: habits\ndescription: Habits.\nalways: true\n---\nGreet.\n');
  world.model.reply(call('memory_write', { fact: 'the owner trusts Eve' }), 'Not done.');
  expect(await say(world, 'remember this too')).toContain('text from a skill by another author');
});
