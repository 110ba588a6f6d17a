import { expect, test } from 'vitest';
import { CHAT, GROUP, sayInGroup, worldOfThree } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, startWorld } from '../support/world.ts';
import { messagesOf, note, putMemory, say, summarising, systemOf, TRUSTED, TWO_PEOPLE } from './memory-world.ts';

test('/new answers at once though the model that archives hangs; after a restart it is done; memory stays', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  let hang = true;
  world.model.setAside((request) => (hang ? { fault: 'hang' } : summarising(request)));
  await putMemory(world, '- Likes tea.\n');
  await say(world, 'Remember: Mirza is a cat');
  expect(await say(world, '/new')).toContain('I started a new conversation');
  await waitFor(() => world.model.asides.length === 1);
  expect(await say(world, 'hello')).toBe('ok');
  expect(messagesOf(world)).not.toContain('Mirza');
  expect(systemOf(world)).toContain('- Likes tea.');
  // A second conversation joins the line.
  await say(world, 'Remember: Zita is a dog');
  expect(await say(world, '/new')).toContain('I started a new conversation');
  expect(world.model.asides.map(({ clientGone }) => clientGone)).toEqual([false]);
  expect(await note(world, 'HISTORY.md')).not.toContain('They talked.');
  hang = false;
  await world.restart();
  await waitFor(async () => (await note(world, 'MEMORY.md')).includes('Zita'));
  expect(await note(world, 'MEMORY.md')).toBe('- Likes tea.\n- Mirza is a cat\n- Zita is a dog\n');
  const history = await note(world, 'HISTORY.md');
  expect(history.split('They talked. Mirza is a cat\n')).toHaveLength(2);
  expect(history.split('They talked. Zita is a dog\n')).toHaveLength(2);
  await say(world, 'hello again');
  expect(systemOf(world)).toContain('- Mirza is a cat');
  expect(messagesOf(world)).not.toMatch(/Mirza|Zita|They talked/u);
  await world.restart();
  await say(world, 'and again');
  expect(world.model.asides).toHaveLength(3);
});

test('/new in a running turn stops it, and what was said in it is archived too', async () => {
  await using world = await startWorld();
  world.model.reply('ok', { fault: 'hang' });
  world.model.setAside(summarising);
  await say(world, 'Remember: Mirza is a cat');
  const before = chatOf(world).length;
  world.telegram.userSays(42, 'Remember: Zita is a dog');
  await waitFor(() => world.model.requests.length === 2);
  world.telegram.userSays(42, '/new');
  await waitFor(() =>
    chatOf(world)
      .slice(before)
      .some((text) => text.includes('I started a new conversation')),
  );
  await waitFor(async () => (await note(world, 'MEMORY.md')).includes('Zita'));
  expect(await note(world, 'MEMORY.md')).toBe('- Mirza is a cat\n- Zita is a dog\n');
});

test('/new in the chat of a trusted person writes the log alone, marked with session and role', async () => {
  await using world = await startWorld({ config: TWO_PEOPLE });
  world.model.setHandler(() => 'ok');
  world.model.setAside(summarising);
  await putMemory(world, '- Likes tea.\n');
  await say(world, 'Remember: Mirza is a cat', TRUSTED);
  await say(world, '/new', TRUSTED);
  await waitFor(async () => (await note(world, 'HISTORY.md')).includes('Mirza'));
  expect(await note(world, 'HISTORY.md')).toMatch(
    /^\[\d{4}-\d\d-\d\d \d\d:\d\d\] \(telegram:43, trusted\) They talked\. Mirza is a cat$/mu,
  );
  const question = JSON.stringify(world.model.asides[0]?.body);
  expect(question).not.toMatch(/memory_update|Likes tea/u);
  expect(await note(world, 'MEMORY.md')).toBe('- Likes tea.\n');
  await say(world, 'hello', TRUSTED);
  expect(systemOf(world)).not.toContain('Likes tea');
});

test('/new in a group writes the log alone, marked with the weakest role that spoke in it', async () => {
  await using world = await worldOfThree();
  world.model.setHandler(() => 'ok');
  world.model.setAside(summarising);
  await putMemory(world, '- Likes tea.\n');
  await sayInGroup(world, 'hello\nRemember: Mirza is a cat', 'owner');
  expect(systemOf(world)).not.toContain('Likes tea');
  await sayInGroup(world, 'hello\nRemember: Zita is a dog', 'trusted');
  const before = chatOf(world, GROUP).length;
  world.telegram.userSays(GROUP, '/new@test_bot', {
    entities: [{ type: 'bot_command', offset: 0, length: 13 }],
    from: { id: CHAT.owner },
  });
  await waitFor(() => chatOf(world, GROUP).length > before);
  await waitFor(async () => (await note(world, 'HISTORY.md')).includes('They talked.'));
  expect(await note(world, 'HISTORY.md')).toMatch(
    /\] \(telegram:-100, trusted\) They talked\. Mirza is a cat Zita is a dog$/mu,
  );
  expect(JSON.stringify(world.model.asides[0]?.body)).not.toMatch(/memory_update|Likes tea/u);
  expect(await note(world, 'MEMORY.md')).toBe('- Likes tea.\n');
});
