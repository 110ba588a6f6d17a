import { DatabaseSync } from 'node:sqlite';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { startFakeEmbeddings, type FakeEmbeddings } from '../support/fake-embeddings.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld, type World } from '../support/world.ts';
import { lastResult, putMemory, say, TRUSTED, TWO_PEOPLE } from './memory-world.ts';

const KEY = 'key-of-vectors-0007';

async function worldWith(
  stack: AsyncDisposableStack,
  settings: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly world: World; readonly server: FakeEmbeddings }> {
  const server = stack.use(await startFakeEmbeddings());
  const embeddings = { baseUrl: server.url, apiKey: KEY, model: 'small', ...settings };
  const world = stack.use(await startWorld({ config: { ...TWO_PEOPLE, memory: { embeddings } } }));
  await putMemory(world, '- A tooth was pulled.\n- Tea at four.\n');
  return { world, server };
}

const look = (query: string) => ({ calls: [{ name: 'memory_search', arguments: { query } }] });

/** Searches once, and waits until the two facts of the memory have their vectors. */
async function embedded(world: World): Promise<void> {
  world.model.reply(look('tea'), 'ok');
  await say(world, 'tea?');
  await waitFor(() => rows(world, 'search.db', 'SELECT 1 FROM vectors').length >= 2);
}

function rows(world: World, file: string, sql: string): readonly Record<string, unknown>[] {
  using db = new DatabaseSync(join(world.home, file), { readOnly: true });
  return db.prepare(sql).all();
}

const status = (world: World): Promise<string> => say(world, '/status');

describe('memory.embeddings', () => {
  test('lets the owner find by meaning; the status says where texts go and how many, the usage counts them', async () => {
    await using stack = new AsyncDisposableStack();
    const { world, server } = await worldWith(stack);
    await embedded(world);
    await waitFor(async () => /\b(?<count>\d+) of \k<count> texts are there/u.test(await status(world)));
    const said = await status(world);
    expect(said).toMatch(
      /Memory: searched by words and meaning; the texts of all conversations and of the memory go to 127\.0\.0\.1:\d+ \(small\)/u,
    );
    world.model.reply(look('dentist'), 'Found.');
    await say(world, 'my dentist?');
    expect(lastResult(world)).toContain('A tooth was pulled.');
    expect([...server.keys]).toEqual([`Bearer ${KEY}`]);
    await waitFor(
      () => rows(world, 'state.db', "SELECT 1 FROM usage WHERE source = 'embeddings' AND input > 0").length > 0,
    );
    expect(said).not.toContain(KEY);
  });

  test.each([
    ['within 5 s', 1, 5_000],
    ['within a minute in a busy home', 300, 60_000],
  ])('gives a fact its vector %s of the turn that told it', async (_when, others, mostMs) => {
    await using stack = new AsyncDisposableStack();
    const { world } = await worldWith(stack);
    await embedded(world);
    const facts = Array.from({ length: others }, (_, n) => `- The dentist lives in street ${n}.`);
    const fact = '- The dentist has a parrot.';
    const path = 'memory/MEMORY.md';
    const content = `- A tooth was pulled.\n- Tea at four.\n${facts.join('\n')}\n${fact}\n`;
    world.model.reply({ calls: [{ name: 'write_file', arguments: { path, content } }] }, 'Noted.');
    expect(await say(world, 'My dentist has a parrot.')).toBe('Noted.');
    const isEmbedded = (): boolean =>
      rows(
        world,
        'search.db',
        "SELECT 1 FROM vectors JOIN documents ON documents.id = document WHERE text LIKE '%parrot%'",
      ).length > 0;
    await waitFor(isEmbedded, { timeoutMs: mostMs, what: 'the vector' });
  });

  test('shows a guest’s search nothing of the owner’s, by no meaning', async () => {
    await using stack = new AsyncDisposableStack();
    const { world } = await worldWith(stack);
    await embedded(world);
    world.model.reply(look('dentist'), 'ok', look('dentist'), 'Nothing.');
    await say(world, 'who is my doctor?');
    expect(lastResult(world)).toContain('A tooth was pulled.');
    await say(world, 'who?', TRUSTED);
    expect(lastResult(world)).not.toContain('tooth');
  });

  test('stops at its tokens of a day, and says so', async () => {
    await using stack = new AsyncDisposableStack();
    const { world, server } = await worldWith(stack, { dayTokens: 0 });
    world.model.reply(look('tea'), 'ok');
    await say(world, 'tea?');
    await waitFor(async () => (await status(world)).includes('0 of '));
    expect(await status(world)).toContain(
      'today’s 0 tokens for it are used (memory.embeddings.dayTokens), so the rest follows tomorrow',
    );
    expect(server.asked.flat().filter((text) => text.includes('tooth'))).toEqual([]);
  });

  test.each([
    ['never tells usage', null],
    ['tells zeros', { prompt_tokens: 0, total_tokens: 0 }],
  ])('stops at its tokens of a day also with a server that %s, which are estimated', async (_what, usage) => {
    await using stack = new AsyncDisposableStack();
    const { world, server } = await worldWith(stack, { dayTokens: 3 });
    server.usage = usage;
    world.model.reply(look('tea'), 'ok');
    await say(world, 'tea?');
    await waitFor(async () => (await status(world)).includes('today’s 3 tokens for it are used'));
    const counted = rows(world, 'state.db', "SELECT estimated FROM usage WHERE source = 'embeddings' AND input > 0");
    expect(counted).toContainEqual({ estimated: 1 });
  });

  test('with a dead server means words only, said in the status', async () => {
    await using stack = new AsyncDisposableStack();
    const { world, server } = await worldWith(stack);
    server.status = 500;
    world.model.reply(look('tooth'), 'ok');
    await say(world, 'tooth?');
    expect(lastResult(world)).toContain('A tooth was pulled.');
    expect(await status(world)).toMatch(
      /Memory: searched by words only, because 127\.0\.0\.1:\d+ answered 500: not today; it is asked again by itself/u,
    );
  });

  test('keeps no vector of what was forgotten for good', async () => {
    await using stack = new AsyncDisposableStack();
    const { world, server } = await worldWith(stack);
    await embedded(world);
    server.status = 500;
    const question = await say(world, '/memory forget tooth');
    await say(world, `/approve ${/\/approve (\w+)/u.exec(question)?.[1]}`);
    await waitFor(() => existsSync(join(world.home, 'forget.json')));
    await world.restart();
    const left = existsSync(join(world.home, 'search.db')) ? rows(world, 'search.db', 'SELECT 1 FROM vectors') : [];
    expect(left).toEqual([]);
  });

  test('that names no server, or no model, is a sentence', async () => {
    await using stack = new AsyncDisposableStack();
    const world = stack.use(await startWorld({ config: { memory: { embeddings: { model: 'small' } } } }));
    expect(await status(world)).toContain(
      'memory.embeddings names a model and no server: set memory.embeddings.provider or memory.embeddings.baseUrl.',
    );
  });

  test('takes effect while the assistant runs, and ends so', async () => {
    await using stack = new AsyncDisposableStack();
    const server = stack.use(await startFakeEmbeddings());
    const world = stack.use(await startWorld());
    await putMemory(world, '- A tooth was pulled.\n- Tea at four.\n');
    const file = join(world.home, 'config.json');
    const before = await readFile(file, 'utf8');
    const embeddings = { baseUrl: server.url, apiKey: KEY, model: 'small' };
    await writeFile(file, JSON.stringify({ ...JSON.parse(before), memory: { embeddings } }));
    await world.assistant.reload();
    await embedded(world);
    world.model.reply(look('dentist'), 'Found.', look('dentist'), 'Nothing.');
    await say(world, 'my dentist?');
    expect(lastResult(world)).toContain('A tooth was pulled.');
    await writeFile(file, before);
    await world.assistant.reload();
    await putMemory(world, '- Tea at four.\n- Teeth hurt.\n');
    const asked = server.asked.length;
    await say(world, 'my doctor?');
    expect(lastResult(world)).not.toContain('Teeth');
    expect(server.asked).toHaveLength(asked);
  });

  test('is off by default: nothing is said of it', async () => {
    await using world = await startWorld();
    expect(await status(world)).not.toContain('Memory:');
  });
});
