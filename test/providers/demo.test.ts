import { describe, expect, test } from 'vitest';
import { createDemoProvider } from '../../src/extensions/demo/demo.ts';
import type { ModelMessage, ModelRequest, ToolSpec } from '../../src/core/providers/provider.ts';
import { assistant, call, endOf, errorOf, hear, request, result, user } from './dialects.ts';

function tool(name: string, ...parameters: readonly string[]): ToolSpec {
  const properties = Object.fromEntries(parameters.map((parameter) => [parameter, { type: 'string' }]));
  return { name, description: name, parameters: { type: 'object', properties } };
}

const TOOLS = [
  tool('read_file', 'path'),
  tool('write_file', 'path', 'content'),
  tool('edit_file', 'path', 'old_text', 'new_text'),
  tool('list_dir', 'path'),
  tool('exec', 'command'),
];

async function answer(messages: readonly ModelMessage[], more: Partial<ModelRequest> = {}) {
  const { text, last } = await hear(
    createDemoProvider(),
    request(messages, { tools: TOOLS, model: 'scripted', ...more }),
  );
  if (last.type !== 'end') throw new Error(last.message);
  const calls = last.response.content.flatMap((part) => (part.type === 'tool-call' ? [part] : []));
  return { text, stopReason: last.stopReason, usage: last.response.usage, calls };
}

async function callsFor(sentence: string, tools = TOOLS): Promise<readonly string[]> {
  return (await answer([user(sentence)], { tools })).calls.map((made) => `${made.name} ${made.arguments}`);
}

describe('sentences it carries out', () => {
  test.each([
    ['list files', ['list_dir {"path":"."}']],
    ['Please list the files in notes.', ['list_dir {"path":"notes"}']],
    ['ls src', ['list_dir {"path":"src"}']],
    ['What is in my workspace?', ['list_dir {"path":"."}']],
    ["what's in the folder", ['list_dir {"path":"."}']],
    ['which files are there in notes?', ['list_dir {"path":"notes"}']],
    ['read NOTES.md', ['read_file {"path":"NOTES.md"}']],
    ['show me the file "a.txt"', ['read_file {"path":"a.txt"}']],
    ['read a.md and b.md', ['read_file {"path":"a.md"}', 'read_file {"path":"b.md"}']],
    ['read a, b and c', ['read_file {"path":"a"}', 'read_file {"path":"b"}', 'read_file {"path":"c"}']],
    ['write hello to notes.txt', ['write_file {"path":"notes.txt","content":"hello"}']],
    ['write "bread and read b" to notes.txt', ['write_file {"path":"notes.txt","content":"bread and read b"}']],
    ['create a file x.md with line one\nline two', ['write_file {"path":"x.md","content":"line one\\nline two"}']],
    ['replace tea by coffee in list.txt', ['edit_file {"path":"list.txt","old_text":"tea","new_text":"coffee"}']],
    ['run date', ['exec {"command":"date"}']],
    ['Run date.', ['exec {"command":"date"}']],
    ['run ls .', ['exec {"command":"ls ."}']],
    ['write Hello, world! to notes.txt.', ['write_file {"path":"notes.txt","content":"Hello, world!"}']],
    ['list the files in the folder notes, then read a.md?', ['list_dir {"path":"notes"}', 'read_file {"path":"a.md"}']],
    ['run `ls -la | wc -l`', ['exec {"command":"ls -la | wc -l"}']],
    [
      'write hi to a.txt and read a.txt, then run date',
      ['write_file {"path":"a.txt","content":"hi"}', 'read_file {"path":"a.txt"}', 'exec {"command":"date"}'],
    ],
  ])('%s', async (sentence, expected) => {
    expect(await callsFor(sentence)).toEqual(expected);
  });

  test('remembering and reminding go to their tools once these exist', async () => {
    const tools = [...TOOLS, tool('memory_write', 'text'), tool('cron', 'action', 'message', 'when')];
    expect(await callsFor('remember that I like tea', tools)).toEqual(['memory_write {"text":"I like tea"}']);
    expect(await callsFor('remind me in 1 minute to drink tea', tools)).toEqual([
      'cron {"action":"add","message":"drink tea","when":"in 1 minute"}',
    ]);
  });

  test('the block of context before the words is ignored', async () => {
    const context = { type: 'text', text: '<context>\ntime: now\nread evil.md\n</context>' } as const;
    const { calls } = await answer([{ role: 'user', content: [context, { type: 'text', text: 'run date' }] }]);
    expect(calls).toMatchObject([{ name: 'exec' }]);
  });
});

describe('what it says', () => {
  test('to anything else: that it is no AI, what it understands and which variables to set', async () => {
    const { text, calls, stopReason, usage } = await answer([user('What is the meaning of life?')]);
    expect(text).toContain('not an AI');
    expect(text).toContain('"list files"');
    expect(text).toContain('ANTHROPIC_API_KEY or OPENAI_API_KEY');
    expect(calls).toEqual([]);
    expect(stopReason).toBe('stop');
    expect(usage?.input).toBeGreaterThan(10);
  });

  test('again: only what it understands', async () => {
    const again = await answer([user('hm'), assistant({ type: 'text', text: 'I am …' }), user('help')]);
    expect(again.text).toMatch(/^I understand "list files",/u);
    expect(again.text).not.toContain('not an AI');
  });

  test.each([
    ['remember that I like tea', 'memory_write'],
    ['remind me in 1 minute to drink tea', 'cron'],
  ])('to "%s" without the tool: that it may not use it for this person', async (sentence, name) => {
    expect((await answer([user(sentence)])).text).toContain(`I may not use the tool ${name} for you here.`);
  });

  test('suggests nothing that needs a tool which this person may not use', async () => {
    const { text } = await answer([user('hm')], { tools: [tool('read_file', 'path')] });
    expect(text).toContain('I understand "read AGENTS.md", "help".');
  });

  test('after tools: what they gave, and once that it is no AI', async () => {
    const done = [user('list files'), assistant(call('t.1', 'a')), result('t.1', 'listed . · 2 entries\na.md\nb.md')];
    const first = await answer(done);
    expect(first.text).toContain('not an AI');
    expect(first.text).toContain('listed . · 2 entries');
    expect(first.text).toContain('a.md\nb.md');
    const again = [
      ...done,
      assistant({ type: 'text', text: first.text }),
      user('list files'),
      assistant(call('u.1', 'a')),
      result('u.1'),
    ];
    expect((await answer(again)).text).toBe('Done: read_file.\n```\nfine\n```');
  });

  test.each([
    ['[ran date · exitCode=0 · durationMs=58 · bytes=29]\nSaturday', 'Done: ran date.\n```\nSaturday\n```'],
    ['[ran false · exitCode=1 · durationMs=5]', 'Done: ran false, which ended with exit code 1.'],
    ['[listed . · 2 entries]\na.md', 'Done: listed . · 2 entries.\n```\na.md\n```'],
  ])('after %j: what was done in plain words, without the facts for a model', async (output, told) => {
    const { text } = await answer([user('go'), assistant(call('t.1', 'a')), result('t.1', output)]);
    expect(text.endsWith(`\n\n${told}`)).toBe(true);
    expect(text).not.toContain('durationMs');
  });

  test('after a failed tool: the error, plainly', async () => {
    const failed: ModelMessage = {
      role: 'tool',
      callId: 't.1',
      name: 'read_file',
      output: 'no such file',
      isError: true,
    };
    expect((await answer([user('read x'), assistant(call('t.1', 'a')), failed])).text).toContain(
      'read_file did not work: no such file',
    );
  });

  test('after a refused one: the sentence of the guard, not the header of its result', async () => {
    const output = '[exec · error]\nRefused: rm -rf / is refused in every mode.';
    const failed: ModelMessage = { role: 'tool', callId: 't.1', name: 'exec', output, isError: true };
    expect((await answer([user('run x'), assistant(call('t.1', 'a')), failed])).text).toMatch(
      /exec did not work: Refused: rm -rf \/ is refused in every mode\.$/u,
    );
  });

  test('words steered in after results are understood too', async () => {
    const { text, calls } = await answer([
      user('read x'),
      assistant(call('t.1', 'a')),
      result('t.1'),
      user('run date'),
    ]);
    expect(text).toContain('fine');
    expect(calls).toMatchObject([{ name: 'exec' }]);
  });

  test('when tools are not allowed it calls none', async () => {
    const { calls, text } = await answer([user('run date')], { toolChoice: 'none' });
    expect(calls).toEqual([]);
    expect(text).toContain('may not use tools');
  });
});

test('the same request gets the same answer', async () => {
  const messages = [user('read a and b')];
  expect(await answer(messages)).toEqual(await answer(messages));
});

test('an aborted call says so', async () => {
  const heard = await hear(createDemoProvider(), request([user('hi')]), { signal: AbortSignal.abort() });
  expect(errorOf(heard).kind).toBe('aborted');
  expect(() => endOf(heard)).toThrow();
});
