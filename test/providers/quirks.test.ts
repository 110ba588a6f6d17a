import { describe, expect, test } from 'vitest';
import { LearnedFacts } from '../../src/core/providers/learned.ts';
import { quirkBehind, withQuirks } from '../../src/core/providers/quirks.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import type { AssistantPart, ModelRequest } from '../../src/core/providers/provider.ts';
import type { FakeModel } from '../support/fake-model.ts';
import type { ErrorStep } from '../support/model-script.ts';
import {
  assistant,
  call,
  connect,
  DIALECTS,
  endOf,
  errorOf,
  hear,
  request,
  result,
  user,
  type Dialect,
} from './dialects.ts';

const thought = (provider: string, data: unknown): AssistantPart => ({
  type: 'reasoning',
  provider,
  model: 'test-model',
  text: 'hm',
  data,
});
const LONG = request([user('a'), assistant(call('T.1', 'c1')), result('T.1'), user('b')]);
const TWO_CALLS = request([
  user('a'),
  assistant(call('T.1', 'c1'), call('T.2', 'c2')),
  result('T.1'),
  result('T.2'),
  user('b'),
]);
const idsOf = (body: Readonly<Record<string, unknown>>): readonly string[] =>
  [...JSON.stringify(body['messages']).matchAll(/"(?:tool_call_id|id)":"(?<id>[^"]+)"/gu)].map(
    ({ groups }) => groups?.['id'] ?? '',
  );
const THOUGHT = request([
  user('a'),
  assistant(thought('openai', { field: 'reasoning_content', text: 'hm' }), { type: 'text', text: 'b' }),
  user('c'),
]);

interface Refusal {
  readonly who: string;
  readonly dialect: Dialect['name'];
  readonly error: ErrorStep['error'];
  /** Of the request before and after. */
  readonly seen: (body: Readonly<Record<string, unknown>>) => unknown;
  readonly before: unknown;
  readonly after: unknown;
  readonly request?: ModelRequest;
  readonly quirks?: Parameters<typeof connect>[2];
}

const messagesOf = (body: Readonly<Record<string, unknown>>): readonly Record<string, unknown>[] =>
  Array.isArray(body['messages']) ? body['messages'] : [];
const roles = (body: Readonly<Record<string, unknown>>): string =>
  messagesOf(body)
    .map(({ role }) => role)
    .join(' ');
const refused = (message: string, more: Partial<ErrorStep['error']> = {}) => ({ status: 400, message, ...more });

const REFUSALS: readonly Refusal[] = [
  {
    who: 'Groq',
    dialect: 'openai',
    error: refused(
      "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
    ),
    request: THOUGHT,
    seen: (body) => messagesOf(body).map((message) => 'reasoning_content' in message),
    before: [false, false, true, false],
    after: [false, false, false, false],
  },
  {
    who: 'Mistral',
    dialect: 'openai',
    error: {
      status: 422,
      body: {
        detail: [
          {
            type: 'extra_forbidden',
            loc: ['body', 'messages', 2, 'assistant', 'reasoning_content'],
            msg: 'Extra inputs are not permitted',
            input: 'hm',
          },
        ],
      },
    },
    request: THOUGHT,
    seen: (body) => messagesOf(body).some((message) => 'reasoning_content' in message),
    before: true,
    after: false,
  },
  ...[
    refused("Extra inputs are not permitted, field: 'stream_options'"),
    refused('Unrecognized request argument supplied: stream_options'),
    refused('Validation error at #/stream_options: Extra inputs are not permitted', { status: 422 }),
    refused('Unknown field: stream_options', { status: 500 }),
  ].map((error) => ({
    who: 'Fireworks, Azure',
    dialect: 'openai' as const,
    error,
    seen: (body: Readonly<Record<string, unknown>>) => 'stream_options' in body,
    before: true,
    after: false,
  })),
  {
    who: 'OpenAI',
    dialect: 'openai',
    error: refused(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { code: 'unsupported_parameter' },
    ),
    seen: ({ max_tokens: old, max_completion_tokens: newer }) => [old, newer],
    before: [4096, undefined],
    after: [undefined, 4096],
  },
  {
    who: 'vLLM, older',
    dialect: 'openai',
    error: refused(
      "[{'type': 'extra_forbidden', 'loc': ('body', 'max_completion_tokens'), 'msg': 'Extra inputs are not permitted', 'input': 800}]",
    ),
    quirks: { quirks: { maxTokens: 'max_completion_tokens' } },
    seen: ({ max_tokens: old, max_completion_tokens: newer }) => [old, newer],
    before: [undefined, 4096],
    after: [4096, undefined],
  },
  ...(
    [
      ['DeepSeek', 'Invalid max_tokens value, the valid range of max_tokens is [1, 2048]', 2048],
      ['Qwen', '<400> InternalError.Algo.InvalidParameter: Range of max_tokens should be [1, 2048]', 2048],
      [
        'Volcano',
        'The parameter max_tokens specified in the request is not valid: integer above maximum value, expected a value <= 2048, but got 4096 instead.',
        2048,
      ],
      [
        'OpenAI',
        'max_tokens is too large: 4096. This model supports at most 2,048 completion tokens, whereas you provided 4096.',
        2048,
      ],
      ['Gemini', 'max_tokens: the supported range is from 1 (inclusive) to 2049 (exclusive)', 2048],
      ['a server that names no limit', 'max_tokens is too large', undefined],
    ] as const
  ).map(([who, message, after]) => ({
    who,
    dialect: 'openai' as const,
    error: refused(message),
    seen: (body: Readonly<Record<string, unknown>>) => body['max_tokens'],
    before: 4096,
    after,
  })),
  {
    who: 'Anthropic',
    dialect: 'anthropic',
    error: refused('max_tokens: 4096 > 2048, which is the maximum allowed number of output tokens for test-model'),
    seen: (body) => body['max_tokens'],
    before: 4096,
    after: 2048,
  },
  {
    who: 'a Responses server',
    dialect: 'openai-responses',
    error: refused('Unsupported parameter: max_output_tokens'),
    seen: (body) => body['max_output_tokens'],
    before: 4096,
    after: undefined,
  },
  ...DIALECTS.flatMap(({ name }) =>
    [
      'registry.ollama.ai/library/gemma:2b does not support tools',
      'No endpoints found that support tool use. To learn more, visit: https://openrouter.ai/docs',
      '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
      'tools param requires --jinja flag',
    ].map((message) => ({
      who: 'a server without tools',
      dialect: name,
      error: { status: message.startsWith('No') ? 404 : message.startsWith('tools') ? 500 : 400, message },
      seen: (body: Readonly<Record<string, unknown>>) => 'tools' in body,
      before: true,
      after: false,
    })),
  ),
  ...[
    "developer is not one of ['system', 'assistant', 'user', 'tool', 'function'] - 'messages.['0].role'",
    "'messages.0' : discriminator property 'role' has invalid value",
    "invalid parameter 'messages[0].role': invalid role 'developer', must be one of: system, user",
  ].map((message) => ({
    who: 'Azure, Groq, Qwen',
    dialect: 'openai' as const,
    error: refused(message),
    quirks: { quirks: { systemRole: 'developer' as const } },
    seen: roles,
    before: 'developer user assistant tool user',
    after: 'system user assistant tool user',
    request: LONG,
  })),
  ...[
    'System role not supported',
    "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
    'Developer instruction is not enabled for models/gemma',
  ].map((message) => ({
    who: 'Gemma, o1-mini',
    dialect: 'openai' as const,
    error: refused(message),
    seen: roles,
    before: 'system user assistant tool user',
    after: 'user assistant tool assistant user',
    request: LONG,
  })),
  {
    who: 'llama.cpp with a template of Mistral',
    dialect: 'openai',
    error: {
      status: 500,
      message: 'Jinja Exception: Conversation roles must alternate user/assistant/user/assistant/...',
    },
    seen: roles,
    before: 'system user assistant tool user',
    after: 'system user assistant tool assistant user',
    request: LONG,
  },
  {
    who: 'llama.cpp with a template of Mistral',
    dialect: 'openai',
    error: refused('Jinja Exception: Tool call IDs should be alphanumeric strings with length 9!', { status: 500 }),
    seen: (body) => {
      const ids = idsOf(body);
      return [ids.every((id) => /^[A-Za-z0-9]{9}$/u.test(id)), new Set(ids).size, ids.length];
    },
    before: [false, 2, 4],
    after: [true, 2, 4],
    request: TWO_CALLS,
  },
  {
    who: 'llama.cpp with a template of Llama 3.1',
    dialect: 'openai',
    error: refused('Jinja Exception: This model only supports single tool-calls at once!'),
    seen: roles,
    before: 'system user assistant tool tool user',
    after: 'system user assistant tool assistant tool user',
    request: TWO_CALLS,
  },
  {
    who: 'a template without results of tools',
    dialect: 'openai',
    error: refused('Jinja Exception: Unexpected message role: tool'),
    seen: (body) => [roles(body), JSON.stringify(body['messages']).includes('[called ')],
    before: ['system user assistant tool tool user', false],
    after: ['system user assistant user', true],
    request: TWO_CALLS,
  },
  {
    who: 'vLLM and LiteLLM with a tokenizer of Mistral',
    dialect: 'openai',
    error: refused('Tool call id was T.1 but must be a-z, A-Z, 0-9, with a length of 9.'),
    seen: (body) => idsOf(body).every((id) => /^[A-Za-z0-9]{9}$/u.test(id)),
    before: false,
    after: true,
    request: TWO_CALLS,
  },
  {
    who: 'vLLM with a tokenizer of Mistral',
    dialect: 'openai',
    error: refused("Unexpected role 'user' after role 'tool'"),
    seen: roles,
    before: 'system user assistant tool user',
    after: 'system user assistant tool assistant user',
    request: LONG,
  },
  ...(
    [
      ['vLLM', 400, 'can only concatenate str (not "NoneType") to str None'],
      ['SGLang', 500, 'Internal server error: can only concatenate str (not "NoneType") to str'],
      [
        'LM Studio',
        400,
        'Error rendering prompt with jinja template: "Cannot apply filter \\"string\\" to type: NullValue".',
      ],
      ['a server that checks types', 422, "'messages.2.content' : value must be a string"],
      [
        'an older vLLM',
        422,
        "[{'type': 'string_type', 'loc': ('body', 'messages', 2, 'content'), 'msg': 'Input should be a valid string', 'input': None}]",
      ],
      [
        'TGI',
        422,
        'Failed to deserialize the JSON body into the target type: messages[2]: missing field `content` at line 1',
      ],
      ['Ollama behind LiteLLM', 400, 'invalid message content type: <nil>'],
    ] as const
  ).map(([who, status, message]) => ({
    who,
    dialect: 'openai' as const,
    error: { status, message },
    seen: (body: Readonly<Record<string, unknown>>) => messagesOf(body)[2]?.['content'],
    before: null,
    after: '',
    request: LONG,
  })),
  {
    who: 'LM Studio',
    dialect: 'openai',
    error: refused("'messages' array must only contain objects with a 'content' field that is not empty."),
    seen: (body) => messagesOf(body)[2]?.['content'],
    before: null,
    after: '(no text)',
    request: LONG,
  },
  ...[
    "litellm.UnsupportedParamsError: ollama does not support parameters: ['tools'], for model=m. To drop these, set `litellm.drop_params=True`",
    "litellm.UnsupportedParamsError: bedrock does not support parameters: {'tools': [{'type': 'function'}]}, for model=m.",
  ].map((message) => ({
    who: 'LiteLLM',
    dialect: 'openai' as const,
    error: refused(message),
    seen: (body: Readonly<Record<string, unknown>>) => 'tools' in body,
    before: true,
    after: false,
  })),
  {
    who: 'LiteLLM in front of Anthropic',
    dialect: 'openai',
    error: refused(
      'litellm.UnsupportedParamsError: Anthropic expects the `tools=` param to be passed in. Pass `tools=` OR set `litellm.modify_params = True` to add dummy tool to the request',
    ),
    seen: (body) => [roles(body), JSON.stringify(body['messages']).includes('[called ')],
    before: ['system user assistant tool tool user', false],
    after: ['system user assistant user', true],
    request: { ...TWO_CALLS, tools: [] },
  },
  ...['"m" does not support thinking', 'think value "low" is not supported for this model'].map((message) => ({
    who: 'Ollama behind LiteLLM',
    dialect: 'openai' as const,
    error: refused(message),
    request: request([user('a')], { reasoning: 'low' as const }),
    seen: (body: Readonly<Record<string, unknown>>) => 'reasoning_effort' in body,
    before: true,
    after: false,
  })),
  ...[
    "litellm.BadRequestError: OpenAIException - tool_choice='required' is not supported",
    'Failed to deserialize the JSON body into the target type: tool_choice: unknown variant `required`, expected one of `none`, `auto`',
    'tool_choice="required" requires --tool-call-parser to be set',
  ].map((message) => ({
    who: 'LiteLLM, TGI, vLLM',
    dialect: 'openai' as const,
    error: refused(message),
    request: request([user('a')], { toolChoice: { tool: 'read_file' } }),
    seen: ({ tool_choice: choice, tools }: Readonly<Record<string, unknown>>) => [choice, Array.isArray(tools)],
    before: ['required', true],
    after: [undefined, true],
  })),
  {
    who: 'a server that knows no other choice than auto',
    dialect: 'openai',
    error: refused("Invalid value for 'tool_choice': 'none' is not supported."),
    request: request([user('a')], { toolChoice: 'none' }),
    seen: ({ tool_choice: choice }) => choice,
    before: 'none',
    after: undefined,
  },
  ...[
    [
      'temperature',
      "Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.",
    ],
    ['temperature', 'invalid temperature: only 1 is allowed for this model'],
    ['temperature', '`temperature` is deprecated for this model.'],
    ['reasoning_effort', 'reasoning_effort: Extra inputs are not permitted'],
  ].map(([field = '', message = '']) => ({
    who: 'OpenAI, Kimi',
    dialect: 'openai' as const,
    error: refused(message),
    request: request([user('a')], { temperature: 0.5, reasoning: 'low' as const }),
    seen: (body: Readonly<Record<string, unknown>>) => field in body,
    before: true,
    after: false,
  })),
];

async function meet({ dialect: name, error, quirks, request: asked = request([user('a')]) }: Refusal) {
  const dialect = DIALECTS.find((one) => one.name === name);
  if (dialect === undefined) throw new Error(`no dialect ${name}`);
  const server: FakeModel = await dialect.start({ expectViolations: true });
  const provider = connect(dialect, server, { learned: new LearnedFacts({ clock: systemClock }), ...quirks });
  const ask = () => hear(provider, asked);
  server.reply({ error });
  return { server, ask };
}

describe('a request that is refused for one part of it', () => {
  test.each(REFUSALS)(
    'is repeated without it, and sent so from then on ($dialect, $who: $error.message)',
    async (refusal) => {
      const { server, ask } = await meet(refusal);
      await using _server = server;
      server.reply('fine', 'again');
      const first = await ask();
      expect(endOf(first).response.content).toEqual([{ type: 'text', text: 'fine' }]);
      expect(server.requests.map(({ body }) => refusal.seen(body))).toEqual([refusal.before, refusal.after]);
      endOf(await ask());
      expect(server.requests.slice(2).map(({ body }) => refusal.seen(body))).toEqual([refusal.after]);
    },
  );

  test.each(REFUSALS)(
    'is not repeated again when the server refuses it all the same ($dialect, $who: $error.message)',
    async (refusal) => {
      const { server, ask } = await meet(refusal);
      await using _server = server;
      server.reply({ error: refusal.error }, { error: refusal.error }, { error: refusal.error });
      errorOf(await ask());
      expect(server.requests.length).toBeLessThanOrEqual(3);
      const sent = server.requests.map(({ text }) => text);
      expect(new Set(sent).size).toBe(sent.length);
    },
  );
});

test('what did not help is not remembered, and a refusal of the content changes nothing', async () => {
  const [dialect] = DIALECTS;
  if (dialect === undefined) throw new Error('no dialect');
  await using server = await dialect.start();
  const learned = new LearnedFacts({ clock: systemClock });
  const provider = connect(dialect, server, { learned });
  server.reply({ error: refused('Unknown parameter: stream_options') }, { error: refused('Something else is wrong.') });
  errorOf(await hear(provider, request([user('a')])));
  expect(server.requests).toHaveLength(2);
  server.reply({ error: refused('Unknown parameter: stream_options. It was blocked by the content filter.') });
  expect(errorOf(await hear(provider, request([user('a')]))).kind).toBe('refusal');
  expect(server.requests).toHaveLength(3);
  expect(learned.of('openai/test-model')).toEqual([]);
});

test.each([{ code: 400 }, { code: '1210' }, { type: '1210' }])('a code such as %j is no limit', async (labels) => {
  const [dialect] = DIALECTS;
  if (dialect === undefined) throw new Error('no dialect');
  await using server = await dialect.start();
  const body = { error: { ...labels, message: 'max_tokens exceeds the maximum of this model' } };
  server.reply({ error: { status: 400, body } }, 'fine');
  endOf(await hear(connect(dialect, server), request([user('a')])));
  expect(server.requests.at(-1)?.body).not.toHaveProperty('max_tokens');
});

test('one that is refused for several parts loses one after the other', async () => {
  const [dialect] = DIALECTS;
  if (dialect === undefined) throw new Error('no dialect');
  await using server = await dialect.start();
  server.reply(
    { error: refused('Unknown parameter: stream_options') },
    { error: refused('max_tokens is too large, the maximum is 1000') },
    'fine',
  );
  endOf(await hear(connect(dialect, server), request([user('a')])));
  expect(server.requests.at(-1)?.body).toMatchObject({ max_tokens: 1000 });
  expect(server.requests.at(-1)?.body).not.toHaveProperty('stream_options');
});

test('a person is told once that a model has no tools', async () => {
  const [dialect] = DIALECTS;
  if (dialect === undefined) throw new Error('no dialect');
  await using server = await dialect.start();
  server.reply({ error: refused('m does not support tools') }, 'fine', 'again');
  const provider = connect(dialect, server, { learned: new LearnedFacts({ clock: systemClock }) });
  const asked = request([user('a')]);
  expect(endOf(await hear(provider, asked)).response.note).toMatch(/can't use tools here/u);
  expect(endOf(await hear(provider, asked)).response).not.toHaveProperty('note');
});

test.each([
  [401, 'Unknown parameter: stream_options'],
  [429, 'Rate limit reached on tokens per minute. max_tokens exceeds the maximum.'],
  [402, 'You requested max_tokens that exceed what you can afford: 100.'],
  [400, "Invalid schema for function 'x': tools[3].function.parameters is invalid"],
])('%i “%s” changes nothing', async (status, message) => {
  const [dialect] = DIALECTS;
  if (dialect === undefined) throw new Error('no dialect');
  await using server = await dialect.start();
  server.reply({ error: { status, message } });
  errorOf(await hear(connect(dialect, server), request([user('a')])));
  expect(server.requests).toHaveLength(1);
});

test('a limit that is named again replaces the one before, of that model alone', () => {
  const learned = new LearnedFacts({ clock: systemClock });
  learned.learnQuirk({ provider: 'p', model: 'm' }, 'no stream_options', '');
  learned.learnQuirk({ provider: 'p', model: 'm' }, 'fewer output tokens=9000', '');
  learned.learnQuirk({ provider: 'p', model: 'm' }, 'fewer output tokens=8000', '');
  expect(learned.quirks({ provider: 'p', model: 'm' })).toEqual(['no stream_options', 'fewer output tokens=8000']);
  expect(learned.quirks({ provider: 'p', model: 'other' })).toEqual([]);
});

test('a model whose reasoning cannot be encrypted is not asked for it', () => {
  const body = { model: 'm', include: ['reasoning.encrypted_content'], input: [] };
  const quirk = quirkBehind('encrypted content is not supported with this model.', body);
  expect(withQuirks(body, [quirk ?? ''])).toEqual({ model: 'm', input: [] });
});

const TOOLS = ['fine', 'bad', 'mcp_fix_x'].map((name) => ({
  name,
  description: name,
  parameters: { type: 'object' as const, properties: {} },
}));
const toolNames = (body: Readonly<Record<string, unknown>>): readonly string[] =>
  ['fine', 'bad', 'mcp_fix_x'].filter((name) => JSON.stringify(body['tools'] ?? []).includes(`"${name}"`));

const REFUSED_TOOLS: readonly (readonly [string, Dialect['name'], ErrorStep['error']])[] = [
  ['OpenAI', 'openai', refused("Invalid schema for function 'bad': In context=(), array schema missing items.")],
  ['OpenAI, by place', 'openai', refused("Invalid 'tools[1].function.parameters': expected an object.")],
  ['OpenAI', 'openai-responses', refused("Invalid schema for function 'bad': schema must have type 'object'.")],
  [
    'Azure',
    'openai',
    refused('Invalid tools[1].function.parameters: schema is not valid', { code: 'invalid_request' }),
  ],
  [
    'Anthropic',
    'anthropic',
    refused('tools.1.custom.input_schema: JSON schema is invalid. It must match draft 2020-12'),
  ],
  [
    'Gemini',
    'openai',
    refused(
      '* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[a].items: missing field.',
    ),
  ],
  [
    'Groq',
    'openai',
    refused("invalid JSON schema for tool bad, tools[1].function.parameters: `/type`: value must be 'object'"),
  ],
  ['SGLang', 'openai', refused("Tool 1 function has invalid 'parameters' schema: 'x' is not valid under any schema")],
  [
    'Mistral',
    'openai',
    {
      status: 422,
      body: {
        detail: [
          {
            type: 'dict_type',
            loc: ['body', 'tools', 1, 'function', 'parameters'],
            msg: 'Input should be a valid dictionary',
            input: null,
          },
        ],
      },
    },
  ],
  [
    'vLLM',
    'openai',
    refused(
      "[{'type': 'dict_type', 'loc': ('body', 'tools', 1, 'function', 'parameters'), 'msg': 'Input should be a valid dictionary'}]",
    ),
  ],
  ['Ollama', 'ollama', refused('invalid tool schema for function bad: unknown type')],
];

describe('a tool whose definition a server refuses', () => {
  test.each(REFUSED_TOOLS)(
    'is left out for this model, and the person is told once (%s, %s)',
    async (_who, dialect, error) => {
      const asked = request([user('a')], { tools: TOOLS });
      const { server, ask } = await meet({
        who: '',
        dialect,
        error,
        request: asked,
        seen: toolNames,
        before: null,
        after: null,
      });
      await using _server = server;
      server.reply('fine', 'again');
      expect(endOf(await ask()).response.note).toMatch(/^The tool bad is switched off for the model /u);
      expect(endOf(await ask()).response).not.toHaveProperty('note');
      expect(server.requests.map(({ body }) => toolNames(body))).toEqual([
        ['fine', 'bad', 'mcp_fix_x'],
        ['fine', 'mcp_fix_x'],
        ['fine', 'mcp_fix_x'],
      ]);
    },
  );

  test.each([
    'tool call validation failed: parameters for tool bad did not match schema',
    "attempted to call tool 'bad' which was not in request.tools",
    "messages[1].tool_calls[0].function.arguments: invalid schema for function 'bad'",
  ])('is not what a refused call means: %s', (said) => {
    expect(quirkBehind(said, { tools: TOOLS })).toBeUndefined();
  });
});
