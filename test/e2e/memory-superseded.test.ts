import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Step } from '../support/model-script.ts';
import { say as sayAs, sayInGroup, worldOfThree } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';
import { lastResult, note, putMemory, say, saves, SESSION, systemOf } from './memory-world.ts';

const DAY_MS = 86_400_000;
const write = (fact: string, replaces?: string): Step => ({
  calls: [{ name: 'memory_write', arguments: replaces === undefined ? { fact } : { fact, replaces } }],
});
const search = (query: string): Step => ({
  calls: [{ name: 'memory_search', arguments: { query, limit: 20 } }],
});
const today = (): string => new Date().toISOString().slice(0, 10);
const facts = (world: World, past = false): ReturnType<World['assistant']['call']> =>
  world.assistant.call('memoryFacts', { past });
const start = (): Promise<World> => startWorld({ config: { agent: { timezone: 'UTC' } } });

describe('a fact carries where it comes from', () => {
  test('told in a turn: the conversation, the turn and the day; written in the file: the day of the edit', async () => {
    await using world = await start();
    await putMemory(world, '# Memory\n\n- Keeps 7 llamas\n');
    const edited = new Date(Date.now() - 40 * DAY_MS);
    await utimes(join(world.workspace, 'memory', 'MEMORY.md'), edited, edited);
    world.model.reply(write('Likes tea'), 'Noted.');
    await say(world, 'I like tea');
    const [turn] = (await world.tape(SESSION)).flatMap((entry) => (entry.kind === 'turn-start' ? [entry.turn] : []));
    const day = edited.toISOString().slice(0, 10);
    expect(await facts(world)).toMatchObject([
      { fact: 'Keeps 7 llamas', how: 'edit', session: null, turn: null, source: `written in the file, ${day}` },
      { fact: 'Likes tea', how: 'memory_write', session: SESSION, turn, source: `told on ${today()} in ${SESSION}` },
    ]);
    expect(await say(world, '/memory')).toBe(
      `What MEMORY.md says, the newest first:\n• Likes tea (told on ${today()} in ${SESSION})\n• Keeps 7 llamas (written in the file, ${day})`,
    );
    world.model.reply(search('tea'), 'Found.', 'Hi.');
    await say(world, 'what do I drink?');
    expect(lastResult(world)).toContain(`- MEMORY.md (told on ${today()} in ${SESSION}): - Likes tea`);
    // The model reads the file as it is, and nothing else of it in its prompt.
    await say(world, 'hi');
    expect(systemOf(world)).toContain('- Keeps 7 llamas\n- Likes tea');
    expect(systemOf(world)).not.toContain('told on');
    expect(await note(world, 'MEMORY.md')).toBe('# Memory\n\n- Keeps 7 llamas\n- Likes tea\n');
  });

  test('from a conversation that was summed up: the turn in which it was said', async () => {
    await using world = await start();
    world.model.reply('Nice.', 'Oh.', 'Ok.');
    world.model.setAside(() => saves('They talked.', '- Has a dog called Rex\n- Was born in Graz'));
    await say(world, 'My dog is called Rex');
    await say(world, 'I was born in Graz');
    await say(world, 'good night');
    await say(world, '/new');
    await waitFor(async () => (await note(world, 'MEMORY.md')).includes('Graz'), { what: 'the facts' });
    const turns = (await world.tape(SESSION)).flatMap((entry) => (entry.kind === 'turn-start' ? [entry.turn] : []));
    expect(await facts(world)).toMatchObject([
      { fact: 'Has a dog called Rex', how: 'consolidation', session: SESSION, turn: turns[0] },
      { fact: 'Was born in Graz', how: 'consolidation', session: SESSION, turn: turns[1] },
    ]);
  });
});

describe('a newer fact supersedes an older one', () => {
  test('which leaves MEMORY.md, stays in HISTORY.md with its days and turn, and is found as what no longer holds', async () => {
    await using world = await start();
    world.model.reply(write('Lives in Berlin'), 'Noted.', write('Lives in Paris', 'Lives in Berlin'), 'Noted.');
    await say(world, 'I live in Berlin');
    await say(world, 'I moved to Paris');
    const [, second] = (await world.tape(SESSION)).flatMap((one) => (one.kind === 'turn-start' ? [one.turn] : []));
    expect(await note(world, 'MEMORY.md')).toBe('# Memory\n\n- Lives in Paris\n');
    expect(await note(world, 'HISTORY.md')).toContain(
      `(memory, ${SESSION}, turn ${second}) No longer holds: “Lives in Berlin” It stood from ${today()} to ${today()}. Now: “Lives in Paris”\n`,
    );
    expect(await facts(world, true)).toMatchObject([
      { fact: 'Lives in Berlin', ended: { turn: second, replacedBy: 'Lives in Paris', how: 'memory_write' } },
    ]);
    world.model.reply(search('Berlin'), 'Found.', 'Hi.');
    await say(world, 'where did I live before?');
    expect(lastResult(world)).toMatch(/HISTORY\.md: .*No longer holds: “Lives in Berlin” .* Now: “Lives in Paris”/u);
    await say(world, 'hi');
    expect(systemOf(world)).toContain('- Lives in Paris');
    expect(systemOf(world)).not.toContain('Berlin');
  });

  test('and when the older one returns it is told when it holds again', async () => {
    await using world = await start();
    world.model.reply(
      write('Lives in Berlin'),
      'Noted.',
      write('Lives in Paris', 'Lives in Berlin'),
      write('Lives in Berlin', 'Lives in Paris'),
      'Noted.',
      search('"No longer holds"'),
      'Found.',
    );
    await say(world, 'I live in Berlin');
    await say(world, 'I moved to Paris; no, I did not');
    await say(world, 'where did I live?');
    const hits = lastResult(world).split('\n');
    expect(hits.find((hit) => hit.includes('holds: “Lives in Berlin”'))).toContain(
      `HISTORY.md (it holds again: told on ${today()} in ${SESSION})`,
    );
    expect(hits.find((hit) => hit.includes('holds: “Lives in Paris”'))).not.toContain('again');
    expect(await note(world, 'MEMORY.md')).toBe('# Memory\n\n- Lives in Berlin\n');
    expect(await facts(world)).toHaveLength(1);
    expect(await facts(world, true)).toMatchObject([{ fact: 'Lives in Paris' }, { fact: 'Lives in Berlin' }]);
  });

  test('that is written without naming the older one, the model is shown that one and asked', async () => {
    await using world = await start();
    await putMemory(world, '- Lives in Berlin\n- Likes tea\n');
    world.model.reply(write('Lives in Paris'), write('Lives in Paris', 'Lives in Berlin'), 'Noted.');
    await say(world, 'I live in Paris');
    const results = world.model.requests.flatMap(({ view }) => view.toolResults.map(({ text }) => text));
    expect(results[0]).toContain(
      'Added: Lives in Paris\nThese lines are close to it:\n- Lives in Berlin\nIf one of them',
    );
    expect(results[0]).not.toContain('tea');
    expect(results.at(-1)).toContain('It says now: Lives in Paris');
    expect(await note(world, 'MEMORY.md')).toBe('- Likes tea\n- Lives in Paris\n');
    expect(await note(world, 'HISTORY.md')).toContain('No longer holds: “Lives in Berlin”');
  });

  test('is taken back by /undo: the older one stands again with its own source, and HISTORY.md says so', async () => {
    await using world = await start();
    world.model.reply(write('Lives in Berlin'), 'Noted.', write('Lives in Paris', 'Berlin'), 'Noted.');
    await say(world, 'I live in Berlin');
    const before = await facts(world);
    await say(world, 'I moved to Paris');
    const question = await say(world, '/undo');
    const code = /\/approve (\w+)/u.exec(question)?.[1];
    if (code !== undefined) world.telegram.userSays(OWNER, `/approve ${code}`);
    await waitFor(async () => (await note(world, 'MEMORY.md')).includes('Berlin'), { what: 'Berlin again' });
    await waitFor(() => chatOf(world).some((text) => text.startsWith('Undone')), { what: 'the undo' });
    expect(await facts(world)).toEqual(before);
    expect(await facts(world, true)).toMatchObject([{ fact: 'Lives in Paris', ended: { how: 'undo' } }]);
    expect(await note(world, 'HISTORY.md')).toContain('Holds again: “Lives in Berlin” Taken back: “Lives in Paris”');
  });

  test('which nobody but the owner alone can do: neither a call nor a summary of others takes a fact away', async () => {
    await using world = await worldOfThree({ guest: ['memory_write'] });
    await putMemory(world, '- Lives in Berlin\n');
    world.model.setAside(() => saves('They talked of Rome.', '- Lives in Rome\n'));
    world.model.setHandler(({ view }) =>
      view.toolResults.length > 0 ? 'I cannot.' : write('Lives in Rome', 'Lives in Berlin'),
    );
    await sayAs(world, 'the owner moved to Rome', 'guest');
    await sayAs(world, 'the owner moved to Rome', 'trusted');
    await sayInGroup(world, 'I moved to Rome', 'owner');
    await sayInGroup(world, 'they moved to Rome', 'guest');
    for (const role of ['guest', 'trusted'] as const) await sayAs(world, '/new', role);
    const told = async (): Promise<number> =>
      ((await note(world, 'HISTORY.md')).match(/They talked of Rome\./gu) ?? []).length;
    await waitFor(async () => (await told()) === 2, { what: 'both summaries' });
    expect(await note(world, 'MEMORY.md')).toBe('- Lives in Berlin\n');
    expect(await facts(world, true)).toEqual([]);
    expect(await note(world, 'HISTORY.md')).not.toContain('No longer');
  });

  test('in a summary: what the model changes or leaves out is kept in HISTORY.md', async () => {
    await using world = await start();
    await putMemory(world, '- Lives in Berlin\n- Likes tea\n- Has a car\n- Works at night\n');
    world.model.reply('Oh.');
    world.model.setAside(() => saves('They talked.', '- Moved to Paris in May\n- Likes tea\n- Works at night'));
    await say(world, 'I moved to Paris in May, and sold my car');
    await say(world, '/new');
    await waitFor(async () => (await note(world, 'HISTORY.md')).includes('Paris'), { what: 'what it replaced' });
    const history = await note(world, 'HISTORY.md');
    expect(history).toMatch(
      /No longer holds: “Lives in Berlin” It stood from [\d-]+ to [\d-]+\. Now: “Moved to Paris in May”/u,
    );
    expect(history).toMatch(/No longer in MEMORY\.md: “Has a car” It stood from/u);
    expect(history).not.toContain('“Likes tea”');
  });

  test('but not by a removal that the owner asks for, nor by an edit of the file: these are in the list alone', async () => {
    await using world = await start();
    await putMemory(world, '- Lives in Berlin\n- Likes tea\n');
    world.model.reply(write('', 'Likes tea'), 'Gone.');
    await say(world, 'forget the tea');
    await writeFile(join(world.workspace, 'memory', 'MEMORY.md'), '- Lives in Paris\n');
    expect(await facts(world)).toMatchObject([{ fact: 'Lives in Paris', how: 'edit' }]);
    expect(await facts(world, true)).toMatchObject([
      { fact: 'Lives in Berlin', ended: { how: 'edit' } },
      { fact: 'Likes tea', ended: { how: 'memory_write', replacedBy: null } },
    ]);
    expect(await note(world, 'HISTORY.md')).toBe('');
  });
});
