import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { startWorld, type World } from '../support/world.ts';
import { messagesOf, note, putMemory, say, saves, SESSION, summarising, systemOf } from './memory-world.ts';

const SMALL = { agent: { contextWindow: 16_000, maxOutputTokens: 1_000 } };
const WORDS = 'We spoke of the garden, the long winter, the neighbours and what there was for dinner. ';
const BOTH = { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42', '43'] } } };

/** Talks until the conversation is being archived; returns how many turns that took. */
async function talkUntilConsolidated(world: World, chat = 42): Promise<number> {
  const before = world.model.asides.length;
  for (let turn = 1; turn <= 60; turn += 1) {
    await say(world, `Turn ${turn}. ${WORDS.repeat(12)}`, chat);
    if (world.model.asides.length > before) return turn;
  }
  throw new Error('nothing was archived');
}

test('no reply waits for an archive, and what was said meanwhile stays', async () => {
  await using world = await startWorld({ config: SMALL });
  const gate = Promise.withResolvers<void>();
  world.model.setAside(async (request) => {
    await gate.promise;
    return await summarising(request);
  });
  world.model.setHandler(() => ({ text: 'ok', usage: null }));
  await say(world, 'Remember: Mirza is a cat');
  await talkUntilConsolidated(world);
  for (let turn = 1; turn <= 10; turn += 1) expect(await say(world, `Meanwhile ${turn}.`)).toBe('ok');
  expect(world.model.asides.map(({ clientGone }) => clientGone)).toEqual([false]);
  expect(messagesOf(world)).toContain('Mirza');
  gate.resolve();
  await waitFor(async () => (await world.tape(SESSION)).some(({ kind }) => kind === 'anchor'));
  await say(world, 'What is left?');
  expect(systemOf(world)).toContain('- Mirza is a cat');
  expect(messagesOf(world)).not.toContain('Remember: Mirza');
  for (let turn = 1; turn <= 10; turn += 1) expect(messagesOf(world)).toContain(`Meanwhile ${turn}.`);
});

test('a conversation is archived at most once in twenty ordinary turns', { timeout: 180_000 }, async () => {
  await using world = await startWorld({ config: SMALL });
  world.model.setAside(summarising);
  world.model.setHandler(({ index }) => ({ text: `Answer ${index}. ${WORDS}`, usage: null }));
  for (let turn = 0; turn < 60; turn += 1) await say(world, `Turn ${turn}: ${WORDS.repeat(3)}`);
  expect(world.model.asides.length).toBeGreaterThan(0);
  expect(world.model.asides.length).toBeLessThanOrEqual(3);
});

test.each(['as they grew too long', 'by /new'])(
  'two conversations that are archived at the same moment, %s, lose nothing of each other',
  async (how) => {
    await using world = await startWorld({ config: { ...SMALL, ...BOTH } });
    world.model.setHandler(() => ({ text: 'ok', usage: null }));
    await putMemory(world, '# About me\n\n- Likes tea.\n');
    const both = Promise.withResolvers<void>();
    world.model.setAside(async (request) => {
      if (world.model.asides.length >= 2) both.resolve();
      await both.promise;
      return await summarising(request);
    });
    const facts = ['left', 'right'].flatMap((side) => [0, 1, 2, 3].map((n) => `the ${side} shelf holds box ${n}`));
    for (const [n, fact] of facts.entries()) await say(world, `Remember: ${fact}`, n < 4 ? 42 : 43);
    if (how === 'by /new')
      for (const chat of [42, 43]) expect(await say(world, '/new', chat)).toContain('new conversation');
    else for (const chat of [42, 43]) await talkUntilConsolidated(world, chat);
    await waitFor(async () => (await note(world, 'HISTORY.md')).split('They talked.').length === 3);
    const lines = async (): Promise<readonly string[]> => (await note(world, 'MEMORY.md')).trim().split('\n');
    await waitFor(async () => (await lines()).length === 3 + facts.length);
    const all = await lines();
    expect(all.slice(0, 3)).toEqual(['# About me', '', '- Likes tea.']);
    expect(all.slice(3).toSorted()).toEqual(facts.map((fact) => `- ${fact}`).toSorted());
    const history = await note(world, 'HISTORY.md');
    expect(facts.map((fact) => history.split(fact).length - 1)).toEqual(facts.map(() => 1));
  },
);

test('what a person and the assistant write into MEMORY.md while it is being rewritten stays', async () => {
  await using world = await startWorld();
  await putMemory(world, '- Likes tea.\n- Lives in Porto.\n');
  const gate = Promise.withResolvers<void>();
  world.model.setAside(async (request) => {
    const step = await summarising(request);
    await gate.promise;
    return step;
  });
  world.model.reply('ok', { calls: [{ name: 'memory_write', arguments: { fact: 'Has two cats.' } }] }, 'Noted.');
  await say(world, 'Remember: Mirza is a cat');
  await say(world, '/new');
  await waitFor(() => world.model.asides.length === 1);
  expect(await say(world, 'I have two cats')).toBe('Noted.');
  const path = join(world.workspace, 'memory', 'MEMORY.md');
  await writeFile(path, (await readFile(path, 'utf8')).replace('Porto', 'Lisbon'));
  gate.resolve();
  await waitFor(async () => (await note(world, 'MEMORY.md')).includes('Mirza'));
  expect((await note(world, 'MEMORY.md')).trim().split('\n').toSorted()).toEqual(
    ['- Has two cats.', '- Likes tea.', '- Lives in Lisbon.', '- Mirza is a cat'].toSorted(),
  );
});

test('a model that answers without a tool leaves MEMORY.md as it is', async () => {
  await using world = await startWorld();
  await putMemory(world, '- Likes tea.\n');
  world.model.setHandler(() => 'ok');
  world.model.setAside(() => 'They spoke of Mirza, the cat.');
  await say(world, 'Remember: Mirza is a cat');
  await say(world, '/new');
  await waitFor(async () => (await note(world, 'HISTORY.md')).includes('They spoke of Mirza, the cat.'));
  expect(await note(world, 'MEMORY.md')).toBe('- Likes tea.\n');
  expect(await world.assistant.call('memoryLog', {})).toEqual([]);
});

test('a model that wants to save a text without words is asked again, and then has failed', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  world.model.setAside(() => saves('   ', '- Mirza is a cat\n'));
  await say(world, 'Remember: Mirza is a cat');
  expect(await say(world, '/mem')).toMatch(/^I could not save this conversation to memory: /u);
  expect(await note(world, 'MEMORY.md')).not.toContain('Mirza');
  expect(await note(world, 'HISTORY.md')).not.toContain('Mirza');
  expect(world.model.asides).toHaveLength(2);
});
