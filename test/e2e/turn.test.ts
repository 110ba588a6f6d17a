import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OutboundEvent } from '../../src/core/bus/messages.ts';
import { MODEL_KEY } from '../support/canaries.ts';
import { startWorld, type DialectName, type World } from '../support/world.ts';
import { say } from '../support/say.ts';

const DIALECTS: readonly DialectName[] = ['openai', 'anthropic', 'ollama'];
/** Broken calls that one answer of the model has. */
const CALLS_AT_ONCE = 10;
const listing = { calls: [{ name: 'list_dir', arguments: {} }] };
const bodies = (world: World): string => JSON.stringify(world.model.requests.map(({ body }) => body));

describe.each(DIALECTS)('a turn with a model of the %s dialect', (dialect) => {
  test('never runs a call whose arguments are not a JSON object, and goes on', async () => {
    await using world = await startWorld({ dialect });
    const good = '{"path":"made.txt","content":"hello"}';
    const forms = [
      good.slice(0, -1),
      good.slice(0, 20),
      '{',
      '{"',
      '{"path"',
      '{"path":',
      '{"path":"made.txt","content":}',
      `${good}}`,
      `${good}${good}`,
      `${good} trailing`,
      `call ${good}`,
      `\`\`\`json\n${good}\n\`\`\``,
      good.replaceAll('"', "'"),
      '{path:"made.txt",content:"hello"}',
      '{"path":"made.txt","content":"hello",}',
      '{"path":"made.txt" "content":"hello"}',
      '{"path":"made.txt","content":"a\nb"}',
      '{"path":"made.txt","content":"\\x41"}',
      '{"path":"made.txt","content":undefined}',
      '{"path":"made.txt","content":NaN}',
      '{"path":"made.txt",// a comment\n"content":"hello"}',
      '<path>made.txt</path><content>hello</content>',
      'path=made.txt',
      `[${good}]`,
      JSON.stringify(good),
      'null',
      '5',
      'true',
      '\u0000',
    ];
    expect(forms.length).toBeGreaterThanOrEqual(20);
    for (let at = 0; at < forms.length; at += CALLS_AT_ONCE) {
      const some = forms.slice(at, at + CALLS_AT_ONCE);
      world.model.reply({ calls: some.map((form) => ({ name: 'write_file', arguments: form })) }, 'done');
      expect(await world.assistant.run('write it'), String(some)).toMatchObject({
        isError: false,
        text: 'done\n\nNot done: `write_file` failed.',
      });
      const { toolResults } = world.model.requests.at(-1)?.view ?? { toolResults: [] };
      expect(toolResults, String(some)).toHaveLength(some.length);
      for (const [n, form] of some.entries()) expect(toolResults[n]?.text, form).toMatch(/nothing was done/iu);
    }
    expect(await readdir(world.workspace)).not.toContain('made.txt');
  });

  test('asks once more, silently, when the answer is empty', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply({ text: '' }, 'Here it is.');
    expect(await world.assistant.run('hi')).toMatchObject({ text: 'Here it is.', isError: false });
    expect(world.model.requests[1]?.body).toEqual(world.model.requests[0]?.body);
  });

  test('asks for a final answer after two empty ones, then says so in a sentence; the next message works', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply({ text: '' }, { text: ' \n' }, { text: '' });
    const end = await world.assistant.run('hi');
    expect(end).toMatchObject({ isError: true, text: expect.stringContaining('empty answer') });
    expect(end.usage.output).toBe(15);
    expect(world.model.requests).toHaveLength(3);
    expect(world.model.requests[2]?.view.lastUserText).toContain('final answer');
    world.model.reply('Good.');
    expect(await world.assistant.run('again')).toMatchObject({ text: 'Good.' });
    // The model reads how that turn ended, so that it does not take it for open.
    expect(bodies(world)).toContain('[not answered: ');
  });

  test('an empty end after a text is a complete turn', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply({ text: 'I look at the files.', ...listing }, { text: '' });
    expect(await world.assistant.run('look')).toMatchObject({ text: 'I look at the files.', isError: false });
    expect(world.model.requests).toHaveLength(2);
  });

  test('continues an answer that was cut off at the output limit without a seam', async () => {
    await using world = await startWorld({ dialect });
    const cut = { finishReason: dialect === 'anthropic' ? 'max_tokens' : 'length' };
    world.model.reply({ text: 'One two thr', ...cut }, { text: 'ee  ', ...cut }, '  four.');
    const texts: string[] = [];
    const onEvent = (event: OutboundEvent): void => {
      if (event.type === 'text') texts.push(event.text);
    };
    const end = await say(world.assistant, 'count', { onEvent });
    expect(end).toMatchObject({ text: 'One two three    four.', isError: false });
    expect(texts.length).toBeGreaterThan(2);
    expect(texts.every((text, i) => i === 0 || text.startsWith(texts[i - 1] ?? ''))).toBe(true);
    expect(world.model.requests[1]?.view.lastUserText).toContain('cut off');
    world.model.reply('Yes.');
    await world.assistant.run('and?');
  });

  test('takes a secret out of an answer that was cut off in the middle of it', async () => {
    await using world = await startWorld({ dialect });
    const cut = { finishReason: dialect === 'openai' || dialect === 'ollama' ? 'length' : 'max_tokens' };
    world.model.reply({ text: `The key is ${MODEL_KEY.slice(0, 9)}`, ...cut }, `${MODEL_KEY.slice(9)}, it seems.`);
    expect((await world.assistant.run('tell me')).text).toBe('The key is [redacted], it seems.');
  });

  test('gives up continuing after three times and says that more is to come', async () => {
    await using world = await startWorld({ dialect });
    const cut = { finishReason: dialect === 'anthropic' ? 'max_tokens' : 'length' };
    world.model.reply(...['a', 'b', 'c', 'd'].map((text) => ({ text, ...cut })));
    expect((await world.assistant.run('go')).text).toMatch(/^abcd\n\n_.*length limit/u);
    expect(world.model.requests).toHaveLength(4);
  });

  test('keeps what was said when the continuation fails', async () => {
    await using world = await startWorld({ dialect });
    const cut = { finishReason: dialect === 'anthropic' ? 'max_tokens' : 'length' };
    world.model.reply({ text: 'Half of it', ...cut }, { error: { status: 401 } });
    expect(await world.assistant.run('go')).toMatchObject({
      isError: false,
      text: expect.stringMatching(/^Half of it\n\n_I was cut off here: .* API key/u),
    });
  });

  test('does not run a call that the output limit cut off, even if its arguments look whole', async () => {
    await using world = await startWorld({ dialect });
    const call = { name: 'write_file', arguments: { path: 'made.txt', content: 'x' } };
    const cut = { finishReason: dialect === 'anthropic' ? 'max_tokens' : 'length' };
    world.model.reply({ calls: [call], ...cut }, 'I will make it smaller.');
    expect(await world.assistant.run('write')).toMatchObject({
      text: 'I will make it smaller.\n\nNot done: writing `made.txt` failed.',
    });
    expect(world.model.requests[1]?.view.toolResults[0]?.text).toContain('output limit');
    expect(await readdir(world.workspace)).not.toContain('made.txt');
  });

  test('leaked reasoning reaches neither people nor the history', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply('<think>the secret plan</think>\n\nHello, use the <think> tag.', 'Again.');
    const seen: unknown[] = [];
    const end = await say(world.assistant, 'hi', { onEvent: (event) => seen.push(event) });
    expect(end.text).toBe('Hello, use the <think> tag.');
    expect(JSON.stringify(seen)).toContain('Hello, use');
    await world.assistant.run('more');
    expect(JSON.stringify(seen) + bodies(world)).not.toContain('secret plan');
  });

  test('nothing but leaked reasoning is an empty answer', async () => {
    await using world = await startWorld({ dialect });
    world.model.reply('<think>hm, what to say', 'Hello.');
    expect(await world.assistant.run('hi')).toMatchObject({ text: 'Hello.' });
  });

  test('warns at the third same call with the same result and ends at the fifth', async () => {
    await using world = await startWorld({ dialect });
    world.model.setHandler(() => listing);
    const end = await world.assistant.run('go');
    expect(end).toMatchObject({ isError: true, text: expect.stringContaining('in circles') });
    expect(world.model.requests).toHaveLength(5);
    const results = world.model.requests.slice(1).map(({ view }) => view.toolResults[0]?.text ?? '');
    expect(results.map((text) => text.includes('with the same result'))).toEqual([false, false, true, true]);
    world.model.reply('Fine.');
    expect(await world.assistant.run('stop that')).toMatchObject({ text: 'Fine.' });
    expect(bodies(world)).toContain('[not answered: ');
  });
});

describe('the last call that a turn may make', () => {
  const config = { agent: { maxIterations: 3 } };

  test.each<[string, Parameters<World['model']['reply']>[0]]>([
    ['fails', { error: { status: 401 } }],
    ['is empty', { text: '' }],
    ['calls a tool all the same', { calls: [{ name: 'write_file', arguments: { path: 'made.txt', content: '' } }] }],
  ])(
    'ends in a plain sentence when it %s, and the next request says that it was not answered',
    async (_title, step) => {
      await using world = await startWorld({ config });
      world.model.reply(listing, listing, step);
      expect(await world.assistant.run('loop')).toMatchObject({
        isError: true,
        text: expect.stringContaining('all 3 steps'),
      });
      expect(world.model.requests).toHaveLength(3);
      expect(await readdir(world.workspace)).not.toContain('made.txt');
      world.model.reply('Here.');
      expect(await world.assistant.run('go on')).toMatchObject({ text: 'Here.' });
      expect(bodies(world)).toContain('[not answered: I used all 3 steps');
    },
  );

  test('what was said before is shown with the sentence', async () => {
    await using world = await startWorld({ config });
    world.model.reply({ text: 'Found one file.', ...listing }, listing, { text: '' });
    expect((await world.assistant.run('loop')).text).toMatch(/^Found one file\.\n\n_.*all 3 steps/u);
  });
});

describe('a turn that another model takes over', () => {
  test('says which one answered, and goes on without reasoning', async () => {
    await using world = await startWorld({
      config: { agent: { fallbacks: ['openai/second-model'], reasoning: 'low' } },
    });
    world.model.reply(
      { reasoning: 'let me look', ...listing },
      { error: { status: 401 } },
      listing,
      'Nothing there.',
      'Hello.',
    );
    expect((await world.assistant.run('look')).text).toBe('Nothing there.\n\n_answered by openai/second-model_');
    const seen = world.model.requests.map(({ body }) => [body['model'], body['reasoning_effort']]);
    expect(seen).toEqual([
      ['scripted-model', 'low'],
      ['scripted-model', 'low'],
      ['second-model', undefined],
      expect.anything(),
    ]);
    expect(seen[3]?.[1]).toBeUndefined();
    const last = (await world.tape('terminal:main')).findLast((entry) => entry.kind === 'turn-end');
    expect(last).toMatchObject({ model: 'openai/second-model' });
  });
});

describe('a result that is too long for the model', () => {
  const config = { agent: { toolResultChars: 2_500 } };

  async function spilled(world: World): Promise<string> {
    const names = Array.from({ length: 150 }, (_, i) => `f-${i}-${'x'.repeat(20)}.txt`);
    await Promise.all(names.map((name) => writeFile(join(world.workspace, name), 'x')));
    world.model.reply(listing, 'Many files.');
    await world.assistant.run('list');
    const text = world.model.requests.at(-1)?.view.toolResults[0]?.text ?? '';
    expect(text.length).toBeLessThan(2_700);
    expect(text).toContain('characters are left out');
    return /pages: (\S+) …\]/u.exec(text)?.[1] ?? '';
  }

  test('is kept in a file of the session, which that session alone can read in pages', async () => {
    await using world = await startWorld({ config });
    const path = await spilled(world);
    expect(path.startsWith(join(world.home, 'spill'))).toBe(true);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await readFile(path, 'utf8')).split('\n').length).toBeGreaterThan(149);
    const reading = { calls: [{ name: 'read_file', arguments: { path, offset: 100, limit: 5 } }] };
    const read = async (session: string): Promise<string> => {
      world.model.reply(reading, 'read');
      await world.assistant.run('read on', { session });
      return world.model.requests.at(-1)?.view.toolResults[0]?.text ?? '';
    };
    expect(await read('main')).toContain('100\t');
    expect(await read('other')).toMatch(/Refused|error/u);
    world.model.reply({ calls: [{ name: 'write_file', arguments: { path, content: 'changed' } }] }, 'no');
    await world.assistant.run('write');
    expect(await readFile(path, 'utf8')).not.toBe('changed');
  });
});
