import { expect, test } from 'vitest';
import { mcpWorld, script, SECRET, connected } from './mcp-world.ts';

/** A server with one tool that answers with its arguments. */
function echoing(one: unknown): ReturnType<typeof script> {
  const { args, ...more } = raw([one]);
  const fine = "answers[params.name] ?? { content: [{ type: 'text', text: 'fine' }] }";
  const own = "{ content: [{ type: 'text', text: JSON.stringify(params.arguments) }] }";
  return { ...more, args: args.map((arg) => arg.replace(fine, own)) };
}

/** A server whose answers are written down here as they go over the line, whatever the protocol says of them. */
function raw(tools: unknown, answers: Readonly<Record<string, unknown>> = {}, name = 'raw'): ReturnType<typeof script> {
  return script(`
    import { createInterface } from 'node:readline';
    const tools = ${JSON.stringify(tools)};
    const answers = ${JSON.stringify(answers)};
    const serverInfo = ${JSON.stringify({ name, version: '1' })};
    const reply = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, result }));
    for await (const line of createInterface({ input: process.stdin })) {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) continue;
      if (method === 'initialize') {
        reply(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo });
      } else if (method === 'tools/list') reply(id, { tools });
      else if (method === 'tools/call') reply(id, answers[params.name] ?? { content: [{ type: 'text', text: 'fine' }] });
      else reply(id, {});
    }`);
}

const tool = (name: string, inputSchema: unknown = { type: 'object', properties: {} }): unknown => ({
  name,
  inputSchema,
});

test('a tool whose schema no model takes is left out with one line, and the others of its server work', async () => {
  const unusable = {
    list: { type: 'array' },
    odd_type: { type: 'object', properties: { a: { type: 'strin' } } },
    odd_field: { type: 'object', properties: { a: 'string' } },
    odd_required: { type: 'object', properties: {}, required: 'a' },
    odd_inside: { type: 'object', properties: { a: { type: 'array', items: { anyOf: 5 } } } },
  };
  const odd = Object.entries(unusable).map(([name, schema]) => ({ name, inputSchema: schema }));
  await using world = await mcpWorld({ odd: raw([...odd, { inputSchema: {} }, 'x', tool('good')]) });
  const report = await world.clients.test('odd');
  expect(world.names()).toEqual(['mcp_odd_good']);
  expect(await world.call('mcp_odd_good')).toMatchObject({ output: 'fine' });
  const lines = world.log.filter(({ message }) => message.includes('left out'));
  expect(lines.map(({ fields }) => fields['tools'])).toEqual([Object.keys(unusable)]);
  expect(report.tools.map(({ name, state }) => [name, state])).toEqual([
    ...Object.keys(unusable).map((name) => [name, 'unusable']),
    ['good', 'agreed'],
  ]);
  expect(world.clients.troubles()).toEqual([]);
});

test('a piece of an answer that no schema knows is kept as text beside the others', async () => {
  const text = (value: string): unknown => ({ type: 'text', text: value });
  const answers = {
    mixed: {
      content: [text('before'), { type: 'widget', title: 'a clock' }, { type: 'image' }, 'bare', text('after')],
    },
    bare: { content: 'just words' },
    empty: { other: 1 },
  };
  await using world = await connected({
    odd: raw(
      Object.keys(answers).map((name) => tool(name)),
      answers,
    ),
  });
  const { output, isError } = await world.call('mcp_odd_mixed');
  expect(isError).toBeUndefined();
  expect(output.split('\n\n').map((piece) => piece.replace(/\s+/gu, ' '))).toEqual([
    'before',
    '[content in a form that is unknown here] { "type": "widget", "title": "a clock" }',
    '[content in a form that is unknown here] { "type": "image" }',
    '[content in a form that is unknown here] "bare"',
    'after',
  ]);
  expect((await world.call('mcp_odd_bare')).output).toContain('just words');
  expect((await world.call('mcp_odd_empty')).output).toBe('');
});

test('what a server calls itself, and how it describes a tool, is shown without secrets', async () => {
  const leaking = { ...Object(tool('good')), description: `Knows ${SECRET}.` };
  await using world = await mcpWorld({ odd: raw([leaking], {}, `server of ${SECRET}`) });
  expect(await world.clients.test('odd')).toMatchObject({
    is: 'server of [redacted] 1',
    tools: [{ name: 'good', description: 'Knows [redacted].' }],
  });
});

const a = (schema: unknown, more: object = {}): object => ({ type: 'object', properties: { a: schema }, ...more });
const TEXT = { type: 'string' };
const SEVEN = { type: 'object', properties: { n: { type: 'integer', default: 7 } }, required: ['n'] };

test.each<[string, schema: object, given: object, sent?: object]>([
  ['"required": null', a(TEXT, { required: null }), { a: 'x' }],
  ['"properties": null', { type: 'object', properties: null }, {}],
  ['no type', { properties: { a: TEXT } }, { a: 'x' }],
  ['null inside', a({ type: 'array', items: null, enum: null }), { a: [1] }],
  ['"type": "any"', a({ type: 'any' }), { a: 5 }],
  ['an array without items', a({ type: 'array' }), { a: ['x'] }],
  [
    'a field named $filter',
    { type: 'object', properties: { $filter: TEXT }, required: ['$filter'] },
    { _filter: 'x' },
    { $filter: 'x' },
  ],
  ['a required field with a default', SEVEN, {}, { n: 7 }],
  ['such a field inside others', a(SEVEN), { a: {} }, { a: { n: 7 } }],
  [
    'such a field inside a list',
    a({ type: 'array', items: SEVEN }),
    { a: [{}, { n: 8 }] },
    { a: [{ n: 7 }, { n: 8 }] },
  ],
  ['lists for empty objects, as PHP writes them', { type: 'object', properties: [], required: {} }, {}],
  ['"required" in its field', a({ ...TEXT, required: true }), { a: 'x' }],
  ['"required" that is off in its field', a({ ...TEXT, required: false }), { a: 'x' }],
  ['an empty type and enum', a({ type: '', enum: [] }), { a: 'x' }],
  ['a list without types', a({ type: [] }), { a: 'x' }],
  ['a choice without schemas', a({ anyOf: [] }), { a: 'x' }],
  ['null in its lists', a({ anyOf: [TEXT, null] }, { required: ['a', null] }), { a: 'x' }],
])(
  'a tool whose schema has %s is offered in a form that strict APIs take, and works',
  async (_what, schema, given, sent = given) => {
    await using world = await connected({ odd: echoing(tool('take', schema)) });
    const [spec] = world.registry.specs('owner');
    expect(spec?.parameters).toMatchObject({ type: 'object', properties: expect.any(Object) });
    expect(JSON.stringify(spec?.parameters)).not.toMatch(/null|"any"|\$filter|"type":"array"(?!,"items")/u);
    expect(JSON.parse((await world.call('mcp_odd_take', given)).output)).toEqual(sent);
  },
);

/** What a validator says of these fields. */
const report = (...fields: readonly string[]): string =>
  JSON.stringify(
    fields.map((field) => ({ code: 'invalid_type', path: ['a', field], message: 'expected a text' })),
    null,
    2,
  );

test.each([
  ['"error": null beside a result', { result: { content: [{ type: 'text', text: 'fine' }] }, error: null }, 'fine'],
  ['an error without a code', { error: { message: 'no more today' } }, 'no more today'],
  ['an error that is only a text', { error: 'no more today' }, 'no more today'],
  [
    "a validator's report",
    { error: { code: -32_602, message: `Invalid arguments: ${report('b')}` } },
    'answered with an error: MCP error -32602: Invalid arguments: a.b: expected a text.',
  ],
  [
    'a longer one',
    { error: { code: -32_602, message: `${report('b', 'c', 'd', 'e')} Try again` } },
    'MCP error -32602: a.b: expected a text; a.c: expected a text; a.d: expected a text; and 1 more Try again.',
  ],
  ['a list that is none', { error: { code: 1, message: 'a list [1, 2] is none' } }, 'a list [1, 2] is none.'],
  ['a bracket', { error: { code: 1, message: '[broken' } }, 'MCP error 1: [broken.'],
])('an answer with %s is understood', async (_what, answer, words) => {
  const code = raw([tool('take')])
    .args.slice(2)
    .join('\n')
    .replace(
      /else if \(method === 'tools\/call'\)[^\n]*/u,
      `else if (method === 'tools/call') console.log(JSON.stringify({ jsonrpc: '2.0', id, ...${JSON.stringify(answer)} }));`,
    );
  await using world = await connected({ odd: script(code) });
  expect((await world.call('mcp_odd_take')).output).toContain(words);
});

test('a server that writes null for what it leaves out, no version, and lists for empty objects is used', async () => {
  const code = raw([tool('take')])
    .args.slice(2)
    .join('\n')
    .replace(
      "{ jsonrpc: '2.0', id, result }",
      '{ id, method: null, result: { ...result, _meta: null, nextCursor: null } }',
    )
    .replace(
      'capabilities: { tools: {} }, serverInfo',
      `capabilities: { tools: [], prompts: { listChanged: null }, resources: [], logging: null },
      instructions: null, serverInfo: { name: 'raw', title: null }`,
    )
    .replace(
      'else reply(id, {});',
      `else if (method === 'prompts/list') {
        reply(id, { prompts: [{ name: 'greet', description: null, arguments: [{ name: 'who', required: null }] }] });
      } else if (method === 'resources/list') reply(id, { resources: [{ uri: 'a:b', name: 'b', mimeType: null }] });
      else reply(id, null);`,
    );
  await using world = await connected({ odd: script(code) });
  expect((await world.call('mcp_odd_take')).output).toBe('fine');
  expect((await world.call('mcp_odd_get_prompt')).output).toBe('greet: takes who');
  expect((await world.call('mcp_odd_read_resource')).output).toBe('a:b: b');
  expect(world.registry.specs('trusted')).toEqual([]);
  await world.restart({ odd: script(code, { role: 'trusted' }) });
  expect(world.registry.specs('trusted')).toHaveLength(3);
});
