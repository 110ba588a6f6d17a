import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, startWorld } from '../support/world.ts';
import {
  asked,
  failing,
  FILLER,
  lastBody,
  messagesOf,
  note,
  say,
  SESSION,
  summarising,
  systemOf,
} from './memory-world.ts';

describe('memory', () => {
  test('of two conversations that are archived at once keeps what was said in both', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42', '43'] } } },
    });
    world.model.setHandler(() => 'ok');
    world.model.setAside(async (request) => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      return await summarising(request);
    });
    for (let n = 0; n < 6; n += 1) {
      await say(world, `fact ${n} is left-${n}`, 42);
      await say(world, `fact ${n} is right-${n}`, 43);
    }
    await Promise.all([say(world, '/new', 42), say(world, '/new', 43)]);
    const kept = async (): Promise<string> => await note(world, 'MEMORY.md');
    const all = [0, 1, 2, 3, 4, 5].flatMap((n) => [`fact ${n} is left-${n}`, `fact ${n} is right-${n}`]);
    await waitFor(async () => (await note(world, 'HISTORY.md')).split('They talked.').length === 3);
    await waitFor(
      async () => all.every((fact) => world.model !== undefined && fact !== '') && (await kept()).includes('right-5'),
    );
    const memory = await kept();
    expect(all.filter((fact) => !memory.includes(fact))).toEqual([]);
  });

  test('is asked for at most once in twenty ordinary turns', { timeout: 60_000 }, async () => {
    await using world = await startWorld({ config: { agent: { contextWindow: 16_000, maxOutputTokens: 500 } } });
    world.model.setAside(summarising);
    world.model.setHandler((request) => ({ text: `Answer ${request.index}.`, usage: null }));
    for (let turn = 0; turn < 100; turn += 1) await say(world, `Turn ${turn}: ${FILLER.slice(0, 200)}`);
    expect(world.model.asides.length).toBeGreaterThan(0);
    expect(world.model.asides.length).toBeLessThanOrEqual(5);
  });
});

describe('/mem', () => {
  test('with a text puts it into MEMORY.md, case and line breaks kept, and nowhere into the conversation', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    world.model.setAside((request) => {
      const { conversation, memory } = asked(request);
      const name = /I am called (\w+)\nand/u.exec(conversation)?.[1] ?? 'nobody';
      const memory_update = `${memory}\n- The owner is called ${name}.`;
      return { calls: [{ name: 'save_memory', arguments: { history_entry: 'Told a name.', memory_update } }] };
    });
    for (const text of ['one', 'two', 'three', 'four']) await say(world, text);
    expect(await say(world, '/mem I am called Ming\nand live in Lisbon')).not.toMatch(/fail/iu);
    expect(await note(world, 'MEMORY.md')).toContain('- The owner is called Ming.');
    await say(world, 'five');
    expect(systemOf(world)).toContain('The owner is called Ming.');
    const messages = messagesOf(world);
    expect(messages).not.toContain('live in Lisbon');
    expect(messages).not.toContain('/mem');
    // The last two exchanges stay as they were, what is older is a summary.
    expect(messages).toContain('three');
    expect(messages).toContain('four');
    expect(messages).toContain('Told a name.');
    expect(messages).not.toMatch(/\bone\b/u);
  });

  test('twice archives once, and says so', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    world.model.setAside(summarising);
    for (const text of ['one', 'two', 'three', 'four']) await say(world, text);
    await say(world, '/mem');
    expect(world.model.asides).toHaveLength(1);
    const history = await note(world, 'HISTORY.md');
    expect(await say(world, '/mem')).toMatch(/nothing/iu);
    expect(world.model.asides).toHaveLength(1);
    expect(await note(world, 'HISTORY.md')).toBe(history);
    // /memory is another word.
    expect(await say(world, '/memory')).toContain('There is no command /memory.');
  });

  test('that fails says so and changes nothing', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    world.model.setAside(failing);
    for (const text of ['one', 'two', 'three', 'four']) await say(world, text);
    expect(await say(world, '/mem')).toMatch(/out of order|could not|not archived|failed/iu);
    expect((await world.tape(SESSION)).some((entry) => entry.kind === 'anchor')).toBe(false);
    await say(world, 'five');
    expect(lastBody(world)).toContain('one');
  });
});

describe('/new', () => {
  test('answers at once while the old conversation is archived behind it, also across a restart; memory stays', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    let hang = true;
    world.model.setAside((request) => (hang ? { fault: 'hang' } : summarising(request)));
    await mkdir(join(world.workspace, 'memory'), { recursive: true });
    await writeFile(join(world.workspace, 'memory', 'MEMORY.md'), '- Likes tea.\n');
    await say(world, 'fact 1 is oak-1');
    const began = performance.now();
    expect(await say(world, '/new')).toContain('A fresh start');
    expect(performance.now() - began).toBeLessThan(2_000);
    expect(await say(world, 'hello')).toBe('ok');
    expect(messagesOf(world)).not.toContain('oak-1');
    expect(systemOf(world)).toContain('Likes tea.');
    expect(await note(world, 'HISTORY.md')).not.toContain('oak-1');
    hang = false;
    await world.restart();
    await waitFor(async () => (await note(world, 'HISTORY.md')).includes('fact 1 is oak-1'));
    await waitFor(async () => (await note(world, 'MEMORY.md')).includes('fact 1 is oak-1'));
    expect(await note(world, 'MEMORY.md')).toContain('Likes tea.');
    expect((await note(world, 'HISTORY.md')).split('oak-1').length).toBe(2);
  });

  test('of another person writes the log alone, marked with session and role', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } } },
    });
    world.model.setHandler(() => 'ok');
    world.model.setAside(summarising);
    await say(world, 'fact 7 is elm-7', 43);
    await say(world, '/new', 43);
    await waitFor(async () => (await note(world, 'HISTORY.md')).includes('elm-7'));
    expect(await note(world, 'HISTORY.md')).toMatch(
      /^\[\d{4}-\d\d-\d\d \d\d:\d\d\] \(telegram:43, trusted\) They talked/mu,
    );
    expect(await note(world, 'MEMORY.md')).not.toContain('elm-7');
    expect(JSON.stringify(world.model.asides[0]?.body)).not.toContain('memory_update');
  });
});

const SOUL = '## Personality\nWarm.\n\n## Values\nTruth.\n\n## Communication Style\nLong.\n';

describe('/soul', () => {
  test('merges a wish into SOUL.md; the next request has it in its system prompt and nowhere in the history', async () => {
    await using world = await startWorld();
    await writeFile(join(world.workspace, 'SOUL.md'), SOUL);
    world.model.reply('Hello.', `\`\`\`markdown\n${SOUL.replace('Long.', 'Brief.')}\`\`\``, 'Hi.');
    await say(world, 'hello');
    const reply = await say(world, '/soul be brief');
    expect(reply).toContain('Brief.');
    const question = world.model.requests[1];
    expect(question?.view.tools).toEqual([]);
    expect(JSON.stringify(question?.body)).not.toContain('tool_choice');
    expect(JSON.stringify(question?.body)).toContain('be brief');
    expect(JSON.stringify(question?.body)).not.toContain('hello');
    expect(await readFile(join(world.workspace, 'SOUL.md'), 'utf8')).toBe(SOUL.replace('Long.', 'Brief.'));
    await say(world, 'again');
    expect(systemOf(world)).toContain('Brief.');
    expect(messagesOf(world)).not.toMatch(/brief/iu);
    expect(await say(world, '/soul')).toContain('Brief.');
  });

  test.each([
    ['too short', 'ok'],
    ['without a section', '## Personality\nWarm.\n\n## Values\nTruth.\n'],
    ['an error', { error: { status: 400, message: 'no' } }],
  ])('keeps the old text when the answer is %s, and says so', async (_what, answer) => {
    await using world = await startWorld();
    await writeFile(join(world.workspace, 'SOUL.md'), SOUL);
    world.model.setHandler(() => answer);
    expect(await say(world, '/soul be brief')).toMatch(/stays|kept|not changed|as it (?:was|is)/iu);
    expect(await readFile(join(world.workspace, 'SOUL.md'), 'utf8')).toBe(SOUL);
  });
});

describe('memory_write', () => {
  const write = { calls: [{ name: 'memory_write', arguments: { fact: 'The owner is called Ming.' } }] };

  test('in the owner’s chat shows in the next turn’s prompt', async () => {
    await using world = await startWorld();
    world.model.reply(write, 'Noted.', 'Hello Ming.');
    await say(world, 'I am Ming');
    expect(await note(world, 'MEMORY.md')).toContain('The owner is called Ming.');
    await say(world, 'hi');
    expect(systemOf(world)).toContain('The owner is called Ming.');
  });

  test('is not for others', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } } },
    });
    world.model.reply(write, 'I can not.');
    await say(world, 'I am the owner, called Ming', 43);
    expect(lastBody(world)).toContain('memory_write is for the owner only');
    expect(await note(world, 'MEMORY.md')).not.toContain('Ming');
  });

  test('has versions that the command line lists and restores', async () => {
    await using world = await startWorld();
    world.model.reply(write, 'Noted.');
    await mkdir(join(world.workspace, 'memory'), { recursive: true });
    await writeFile(join(world.workspace, 'memory', 'MEMORY.md'), '- Likes tea.\n');
    await say(world, 'I am Ming');
    const [version] = await world.assistant.request('memoryLog', {});
    expect(version).toMatchObject({ kind: 'kept' });
    await world.assistant.request('memoryRestore', { id: version?.id ?? '' });
    expect(await note(world, 'MEMORY.md')).toBe('- Likes tea.\n');
  });

  test('a rewrite that would lose most of MEMORY.md is kept back, and the owner is told', async () => {
    await using world = await startWorld();
    world.model.setHandler(() => 'ok');
    world.model.setAside(() => ({
      calls: [{ name: 'save_memory', arguments: { history_entry: 'A talk.', memory_update: '- Nothing.' } }],
    }));
    const lines = Array.from({ length: 12 }, (_, n) => `- Fact number ${n}.`).join('\n');
    await mkdir(join(world.workspace, 'memory'), { recursive: true });
    await writeFile(join(world.workspace, 'memory', 'MEMORY.md'), `${lines}\n`);
    await say(world, 'hello');
    await say(world, '/new');
    const code = (): string => /\/deny (\w+)/u.exec(chatOf(world).join('\n'))?.[1] ?? '';
    await waitFor(() => code() !== '', { what: 'a question' });
    expect(chatOf(world).join('\n')).toContain('− - Fact number 3.');
    await say(world, `/deny ${code()}`);
    await waitFor(() => chatOf(world).some((text) => text.includes('restore')), { what: 'a notice' });
    expect(await note(world, 'MEMORY.md')).toBe(`${lines}\n`);
    expect((await world.assistant.request('memoryLog', {}))[0]).toMatchObject({ kind: 'proposed' });
  });
});
