import { expect, test } from 'vitest';
import { resultsOf, sayInGroup, worldOfThree } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, startWorld } from '../support/world.ts';
import { lastResult, note, putMemory, say, saves, summarising, systemOf, TRUSTED, TWO_PEOPLE } from './memory-world.ts';

const write = { calls: [{ name: 'memory_write', arguments: { fact: 'The owner is called Ming.' } }] };

test('memory_write in the owner’s chat shows in the next turn’s prompt', async () => {
  await using world = await startWorld();
  world.model.reply(write, 'Noted.', 'Hello Ming.');
  await say(world, 'I am Ming');
  expect(await note(world, 'MEMORY.md')).toContain('- The owner is called Ming.\n');
  await say(world, 'hi');
  expect(systemOf(world)).toContain('- The owner is called Ming.');
});

test('memory_write is not for a trusted person', async () => {
  await using world = await startWorld({ config: TWO_PEOPLE });
  await putMemory(world, '- Likes tea.\n');
  world.model.reply(write, 'I cannot.');
  await say(world, 'I am the owner, called Ming', TRUSTED);
  expect(lastResult(world)).toContain('memory_write is for the owner only');
  expect(await note(world, 'MEMORY.md')).toBe('- Likes tea.\n');
  expect(systemOf(world)).not.toContain('Likes tea');
});

test('memory_write is not for a group, not even when the owner asks', async () => {
  await using world = await worldOfThree();
  await putMemory(world, '- Likes tea.\n');
  world.model.reply(write, 'I cannot.', write, 'I cannot.');
  await sayInGroup(world, 'I am Ming', 'owner');
  expect(resultsOf(world).at(-1)).toContain('only changed when the owner asks for it in a direct chat');
  await sayInGroup(world, 'I am Ming', 'guest');
  expect(resultsOf(world).at(-1)).toContain('memory_write is not for guests');
  expect(await note(world, 'MEMORY.md')).toBe('- Likes tea.\n');
});

test('memory_search of somebody else finds neither the memory nor the owner’s conversations', async () => {
  await using world = await startWorld({ config: TWO_PEOPLE });
  await putMemory(world, '- The owner keeps 7 llamas.\n');
  world.model.setAside(summarising);
  const look = { calls: [{ name: 'memory_search', arguments: { query: 'llamas' } }] };
  world.model.reply('ok', 'ok', look, 'Found.', look, 'Nothing.');
  await say(world, 'Remember: the llamas live in Alva');
  await say(world, '/new');
  await waitFor(async () => (await note(world, 'HISTORY.md')).includes('Alva'));
  await say(world, 'hello', TRUSTED);
  await say(world, 'What of my llamas?');
  expect(lastResult(world)).toMatch(/MEMORY\.md \(written in the file, [\d-]+\): - The owner keeps 7 llamas\./u);
  expect(lastResult(world)).toMatch(/HISTORY\.md: .*the llamas live in Alva/u);
  await say(world, 'What of the owner’s animals?', TRUSTED);
  expect(lastResult(world)).toContain('Nothing was found.');
});

test('the command line lists the versions of MEMORY.md, shows one, and takes it back', async () => {
  await using world = await startWorld();
  world.model.reply(write, 'Noted.', 'hi');
  await putMemory(world, '- Likes tea.\n');
  await say(world, 'I am Ming');
  const versions = await world.assistant.call('memoryLog', {});
  expect(versions).toHaveLength(1);
  expect(versions[0]).toMatchObject({ kind: 'kept', size: 13 });
  const id = versions[0]?.id ?? '';
  expect(await world.assistant.call('memoryShow', { id })).toMatchObject({ text: '- Likes tea.\n' });
  await world.assistant.call('memoryRestore', { id });
  expect(await note(world, 'MEMORY.md')).toBe('- Likes tea.\n');
  // What it was before can be had back too.
  const [newest] = await world.assistant.call('memoryLog', {});
  expect(await world.assistant.call('memoryShow', { id: newest?.id ?? '' })).toMatchObject({
    text: expect.stringContaining('Ming'),
  });
  await say(world, 'hi');
  expect(systemOf(world)).toContain('- Likes tea.');
  expect(systemOf(world)).not.toContain('Ming');
  await expect(world.assistant.call('memoryRestore', { id: 'nothing' })).rejects.toMatchObject({
    code: 'memory-version',
  });
});

test('a rewrite that loses more than half of MEMORY.md is kept back unless the owner agrees', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(() => saves('A talk.', '- Nothing.'));
  const memory = Array.from({ length: 12 }, (_, n) => `- Fact number ${n}.\n`).join('');
  await putMemory(world, memory);
  await say(world, 'hello');
  await say(world, '/new');
  const code = (): string => /\/deny (\w+)/u.exec(chatOf(world).join('\n'))?.[1] ?? '';
  await waitFor(() => code() !== '', { what: 'a question' });
  expect(chatOf(world).join('\n')).toContain('− - Fact number 3.');
  // Nothing waits for the answer: the log is written, the chat goes on.
  expect(await note(world, 'HISTORY.md')).toContain('A talk.');
  expect(await note(world, 'MEMORY.md')).toBe(memory);
  await say(world, `/deny ${code()}`);
  await waitFor(() => chatOf(world).some((text) => text.includes('I did not change MEMORY.md')));
  expect(await note(world, 'MEMORY.md')).toBe(memory);
  const [proposal] = await world.assistant.call('memoryLog', {});
  expect(proposal).toMatchObject({ kind: 'proposed' });
  const notice = chatOf(world).find((text) => text.includes('npm run assistant -- memory restore')) ?? '';
  expect(/npm run assistant -- memory restore (\w+)/u.exec(notice)?.[1]).toBe(proposal?.id);
  await world.assistant.call('memoryRestore', { id: proposal?.id ?? '' });
  expect(await note(world, 'MEMORY.md')).toBe('- Nothing.\n');
});

test('a rewrite that loses more than half of MEMORY.md is made when the owner agrees', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(() => saves('A talk.', '- Nothing.'));
  await putMemory(world, '- Fact one.\n- Fact two.\n- Fact three.\n');
  await say(world, 'hello');
  expect(await say(world, '/mem')).toMatch(
    /MEMORY\.md changes only if you approve it: see my question\.|Rewrite MEMORY\.md/u,
  );
  const code = (): string => /\/approve (\w+)/u.exec(chatOf(world).join('\n'))?.[1] ?? '';
  await waitFor(() => code() !== '', { what: 'a question' });
  await say(world, `/approve ${code()}`);
  await waitFor(async () => (await note(world, 'MEMORY.md')) === '- Nothing.\n');
  expect((await world.assistant.call('memoryLog', {})).map(({ kind }) => kind)).toEqual(['kept']);
});
