import * as z from 'zod';
import { describe, expect, test } from 'vitest';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import { defineTool, type ToolResult } from '../../src/core/tools/tool.ts';
import { testToolContext } from '../support/tool-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const schema = z.object({
  path: z.string().min(1).optional(),
  limit: z.int().min(1).max(100).optional(),
  ratio: z.number().optional(),
  all: z.boolean().optional(),
  tags: z.array(z.string()).optional(),
  mode: z.enum(['fast', 'slow']).optional(),
  range: z.object({ from: z.int(), to: z.int() }).optional(),
  note: z.string().nullable().optional(),
});

/** Calls a tool with raw arguments and returns what it was given, if it was called, and what the model reads. */
async function send(raw: string, parameters: z.ZodObject = schema): Promise<{ given: unknown; answer: ToolResult }> {
  let given: unknown = 'not called';
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: [] },
    clock: new VirtualClock(),
    redact: (text) => text,
    maxOutput: 16_000,
  });
  registry.register(
    defineTool({
      name: 'take',
      description: 'Takes.',
      parameters,
      effect: 'effect',
      execute: async (params) => {
        given = params;
        return { title: 'took', output: 'ok', metadata: {} };
      },
    }),
  );
  const answer = await registry.run({ name: 'take', arguments: raw }, testToolContext());
  return { given, answer };
}

describe('text that is not a JSON object', () => {
  test.each([
    '{',
    '{"path": "a"',
    '{"path": "a",}',
    "{'path': 'a'}",
    'path=a',
    '```json\n{}\n```',
    '{"path":"a"}{"path":"b"}',
  ])('%j is refused and never run', async (raw) => {
    const { given, answer } = await send(raw);
    expect(given).toBe('not called');
    expect(answer).toMatchObject({
      isError: true,
      output:
        'Nothing was done: the arguments are not valid JSON. Call the tool again with one JSON object as its arguments.',
    });
  });

  test.each(['null', '[]', '"a"', '5', 'true'])('%s is JSON but not an object, and never run', async (raw) => {
    const { given, answer } = await send(raw);
    expect(given).toBe('not called');
    expect(answer.output).toBe('Nothing was done: the arguments must be a JSON object. Call the tool again with one.');
  });

  test.each(['', '  \n'])('empty arguments %j are an empty object', async (raw) => {
    expect((await send(raw)).given).toEqual({});
  });

  test('arguments that are nested without end are refused', async () => {
    const raw = `{"path":${'['.repeat(60_000)}${']'.repeat(60_000)}}`;
    const { given, answer } = await send(raw);
    expect(given).toBe('not called');
    expect(answer.isError).toBe(true);
  });
});

describe('harmless slips are put right', () => {
  test.each([
    ['a number as text', { limit: '5' }, { limit: 5 }],
    ['a number with blanks', { limit: ' 5 ' }, { limit: 5 }],
    ['a fraction as text', { ratio: '-0.5' }, { ratio: -0.5 }],
    ['true as text', { all: 'true' }, { all: true }],
    ['false as text', { all: 'false' }, { all: false }],
    ['a single text for a list', { tags: 'red' }, { tags: ['red'] }],
    ['null for an absent field', { path: null, limit: null, mode: null, range: null }, {}],
    ['a number for text', { path: 5 }, { path: '5' }],
    ['a slip inside an object', { range: { from: '1', to: 2 } }, { range: { from: 1, to: 2 } }],
    ['several slips at once', { limit: '5', all: 'true', path: null }, { limit: 5, all: true }],
    ['a field that nobody knows', { path: 'a', colour: 'red' }, { path: 'a' }],
  ])('%s', async (_name, given, expected) => {
    expect((await send(JSON.stringify(given))).given).toEqual(expected);
  });

  test('null stays where it is allowed', async () => {
    expect((await send('{"note":null,"limit":"5"}')).given).toEqual({ note: null, limit: 5 });
  });

  test('what fits is left as it is', async () => {
    const params = { path: '5', limit: 5, all: false, tags: ['true', '1'] };
    expect((await send(JSON.stringify(params))).given).toEqual(params);
  });
});

describe('what does not fit is refused, naming the field, what was expected and what was given', () => {
  test.each([
    ['text for a number', '{"limit":"many"}', ['limit', 'expected number', '"many" was given']],
    ['empty text for a number', '{"limit":""}', ['limit', 'expected number', '"" was given']],
    ['a fraction', '{"limit":1.5}', ['limit', 'int', '1.5 was given']],
    ['a value out of range', '{"limit":101}', ['limit', '100', '101 was given']],
    ['a repaired value out of range', '{"limit":"0"}', ['limit', '1', '0 was given']],
    ['infinity', '{"ratio":"Infinity"}', ['ratio', 'expected number', '"Infinity" was given']],
    ['yes for true', '{"all":"yes"}', ['all', 'expected boolean', '"yes" was given']],
    ['an object for a list', '{"tags":{"a":1}}', ['tags', 'expected array', '{"a":1} was given']],
    ['an object for text', '{"path":{"a":1}}', ['path', 'expected string', '{"a":1} was given']],
    ['a word outside a choice', '{"mode":"medium"}', ['mode', '"fast"|"slow"', '"medium" was given']],
    ['a field inside an object', '{"range":{"from":1}}', ['range.to', 'expected number', 'it is missing']],
    ['an element of a list', '{"tags":["a",{}]}', ['tags.1', 'expected string', '{} was given']],
    ['empty text', '{"path":""}', ['path', '1', '"" was given']],
    ['a number too long to be exact', '{"path":1234567890123456789}', ['path', 'expected string', 'was given']],
    ['two fields', '{"limit":"many","all":5}', ['limit', 'all', ';']],
  ])('%s', async (_name, raw, parts) => {
    const { given, answer } = await send(raw);
    expect(given).toBe('not called');
    expect(answer.isError).toBe(true);
    expect(answer.output).toMatch(
      /^Nothing was done, because the arguments do not fit the tool: .* Correct them and call it again\.$/u,
    );
    for (const part of parts) expect(answer.output).toContain(part);
    expect(answer.output).not.toMatch(/received|\n/u);
  });

  test('a missing field', async () => {
    const { answer } = await send('{}', z.object({ path: z.string() }));
    expect(answer.output).toContain('path: expected string, but it is missing');
  });

  test('null for a field that must be there', async () => {
    const { given, answer } = await send('{"path":null}', z.object({ path: z.string() }));
    expect(given).toBe('not called');
    expect(answer.output).toContain('path');
  });

  test('an unknown field of a strict tool', async () => {
    const { answer } = await send('{"a":"x","b":1}', z.strictObject({ a: z.string() }));
    expect(answer.output).toContain('unknown field b');
  });

  test('a huge value is shown in part, and at most five fields are named', async () => {
    const long = await send(JSON.stringify({ limit: 'x'.repeat(100_000) }));
    expect(long.answer.output.length).toBeLessThan(300);
    const many = await send(JSON.stringify({ tags: Array.from({ length: 50 }, () => ({})) }));
    expect(many.answer.output.match(/was given/gu)).toHaveLength(5);
  });

  test('a schema that throws is a refusal', async () => {
    const parameters = z.object({
      path: z.string().refine(() => {
        throw new Error('check broke');
      }),
    });
    const { given, answer } = await send('{"path":"a"}', parameters);
    expect(given).toBe('not called');
    expect(answer.output).toBe('The arguments could not be checked, so nothing was done: check broke');
  });
});

describe("another program's name of a parameter", () => {
  const edit = z.object({
    path: z.string(),
    oldText: z.string(),
    newText: z.string(),
    replaceAll: z.boolean().optional(),
  });
  const exec = z.object({ command: z.string(), cwd: z.string().optional() });
  const find = z.object({ pattern: z.string(), path: z.string().optional(), limit: z.int().optional() });

  test.each<[z.ZodObject, object, object]>([
    [edit, { file_path: 'a', old_string: 'b', new_string: 'c' }, { path: 'a', oldText: 'b', newText: 'c' }],
    [
      edit,
      { filename: 'a', old_str: 'b', new_str: 'c', replace_all: true },
      { path: 'a', oldText: 'b', newText: 'c', replaceAll: true },
    ],
    [exec, { cmd: 'date', workdir: '/tmp' }, { command: 'date', cwd: '/tmp' }],
    [exec, { script: 'date' }, { command: 'date' }],
    [find, { regex: 'x', directory: 'src', head_limit: '5' }, { pattern: 'x', path: 'src', limit: 5 }],
    [z.object({ query: z.string() }), { q: 'x' }, { query: 'x' }],
    [z.object({ url: z.string() }), { uri: 'x' }, { url: 'x' }],
    [z.object({ path: z.string(), content: z.string() }), { path: 'a', file_text: 'x' }, { path: 'a', content: 'x' }],
    [z.object({ path: z.string(), content: z.string() }), { file: 'a', text: 'x' }, { path: 'a', content: 'x' }],
  ])('is read as the tool calls it: %#', async (parameters, sent, given) => {
    expect((await send(JSON.stringify(sent), parameters)).given).toEqual(given);
  });

  test('counts for nothing beside the right name, or where the tool has a parameter of that name', async () => {
    expect((await send('{"command":"date","cmd":"rm x"}', exec)).given).toEqual({ command: 'date' });
    const both = z.object({ command: z.string().optional(), script: z.string() });
    expect((await send('{"script":"x"}', both)).given).toEqual({ script: 'x' });
    const open = z.looseObject({ query: z.string().optional() });
    expect((await send('{"q":"x"}', open)).given).toEqual({ q: 'x' });
  });
});
