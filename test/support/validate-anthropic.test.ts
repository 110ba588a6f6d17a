import { describe, expect, test } from 'vitest';
import { validateAnthropicRequest } from './validate-anthropic.ts';

type Body = Record<string, unknown>;

const PIXEL = 'iVBORw0KGgo=';
const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const user = { role: 'user', content: 'hello' };

describe('the Messages validator', () => {
  const tool = { name: 'read_file', description: 'Reads.', input_schema: schema };
  const use = (id: unknown, change: Body = {}): Body => ({
    type: 'tool_use',
    id,
    name: 'read_file',
    input: {},
    ...change,
  });
  const result = (id: unknown, change: Body = {}): Body => ({
    type: 'tool_result',
    tool_use_id: id,
    content: 'ok',
    ...change,
  });
  const thinking = { type: 'thinking', thinking: 'hm', signature: 'c2ln' };
  const text = (value: string, change: Body = {}): Body => ({ type: 'text', text: value, ...change });
  const says = (...content: unknown[]): Body => ({ role: 'user', content });
  const answers = (...content: unknown[]): Body => ({ role: 'assistant', content });
  const body = (change: Body = {}): Body => ({ model: 'm', max_tokens: 2048, messages: [user], ...change });
  const talk = (...messages: unknown[]): Body => body({ messages, tools: [tool] });
  const image = (source: Body): Body => talk(says({ type: 'image', source }));
  const mark = { cache_control: { type: 'ephemeral' } };
  const enabled = { type: 'enabled', budget_tokens: 1024 };

  test.each<[string, Body]>([
    ['a bare question', body()],
    [
      'system blocks and marks in four places',
      {
        ...talk(says(text('a', mark)), answers(text('b')), says(text('c', mark))),
        system: [text('s', mark)],
        tools: [{ ...tool, ...mark }],
      },
    ],
    [
      'calls, results and words after them',
      talk(user, answers(text('x'), use('a'), use('b')), says(result('b'), result('a'), text('go on'))),
    ],
    ['an error result', talk(user, answers(use('a')), says(result('a', { is_error: true })))],
    [
      'a result that shows an image',
      talk(
        user,
        answers(use('a')),
        says(
          result('a', {
            content: [text('see'), { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }],
          }),
        ),
      ),
    ],
    ['a result without content', talk(user, answers(use('a')), says({ type: 'tool_result', tool_use_id: 'a' }))],
    ['thinking before a call', { ...talk(user, answers(thinking, use('a')), says(result('a'))), thinking: enabled }],
    [
      'redacted thinking',
      {
        ...talk(user, answers({ type: 'redacted_thinking', data: 'x' }, use('a')), says(result('a'))),
        thinking: enabled,
      },
    ],
    ['a forced tool', body({ tools: [tool], tool_choice: { type: 'tool', name: 'read_file' } })],
    ['no tool at the last iteration', body({ tools: [tool], tool_choice: { type: 'none' } })],
    ['adaptive thinking', { ...talk(user, answers(use('a')), says(result('a'))), thinking: { type: 'adaptive' } }],
  ])('passes %s', (_, request) => {
    expect(validateAnthropicRequest(request)).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ['a body that is no object', 'hi', 'must be a JSON object'],
    ['no limit', body({ max_tokens: undefined }), 'max_tokens: must be an integer'],
    ['a limit of nothing', body({ max_tokens: 0 }), 'max_tokens: must be an integer'],
    ['no model', body({ model: undefined }), 'model: must be a non-empty string'],
    ['an unknown key', body({ parallel_tool_calls: true }), 'unknown key "parallel_tool_calls"'],
    ['no messages', body({ messages: [] }), 'must be a non-empty list'],
    ['a system message in between', talk({ role: 'system', content: 'x' }, user), 'must be one of user, assistant'],
    ['an assistant message first', talk(answers(text('x')), user), 'first message must come from the user'],
    ['two user messages in a row', talk(user, user), 'roles alternate'],
    ['a prefill', talk(user, answers(text('Sure'))), 'no prefill'],
    ['an unknown key in a message', talk({ ...user, name: 'x' }), 'unknown key "name"'],
    ['an empty message', talk({ role: 'user', content: [] }), 'a non-empty list of blocks'],
    ['a blank message', talk({ role: 'user', content: ' \n' }), 'more than white space'],
    ['an empty text block', talk(says(text(''))), 'more than white space'],
    ['a blank text block of the assistant', talk(user, answers(text('  ')), user), 'more than white space'],
    ['a call by the user', talk(says(use('a'))), 'a user message may not hold a tool_use'],
    ['a result by the assistant', talk(user, answers(result('a')), user), 'may not hold a tool_result'],
    ['thinking by the user', talk(says(thinking)), 'a user message may not hold a thinking'],
    ['a call without a result', talk(user, answers(use('a')), user), 'has no tool_result in this message'],
    [
      'one of two calls without a result',
      talk(user, answers(use('a'), use('b')), says(result('a'))),
      '"b" has no tool_result',
    ],
    ['words before the results', talk(user, answers(use('a')), says(text('x'), result('a'))), 'come first'],
    ['a result for nothing', talk(says(result('a'))), 'answers no tool_use'],
    [
      'a result too late',
      talk(user, answers(use('a')), says(result('a')), answers(text('x')), says(result('a'))),
      'answers no tool_use',
    ],
    ['two results for one call', talk(user, answers(use('a')), says(result('a'), result('a'))), 'second tool_result'],
    ['one id for two calls', talk(user, answers(use('a'), use('a')), says(result('a'))), 'duplicate tool_use id'],
    [
      'an id used again later',
      talk(user, answers(use('a')), says(result('a')), answers(use('a')), says(result('a'))),
      'duplicate tool_use id',
    ],
    [
      'an id with other characters',
      talk(user, answers(use('01H.1')), says(result('01H.1'))),
      'must match ^[a-zA-Z0-9_-]+$',
    ],
    ['an empty id', talk(user, answers(use('')), says(result(''))), 'must match ^[a-zA-Z0-9_-]+$'],
    ['input as text', talk(user, answers(use('a', { input: '{}' })), says(result('a'))), 'input: must be an object'],
    [
      'calls without tools',
      { ...talk(user, answers(use('a')), says(result('a'))), tools: undefined },
      'must be given when messages hold',
    ],
    [
      'an error result with an image',
      talk(
        user,
        answers(use('a')),
        says(
          result('a', {
            is_error: true,
            content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }],
          }),
        ),
      ),
      'may hold text only',
    ],
    [
      'an empty text block in a result',
      talk(user, answers(use('a')), says(result('a', { content: [text('')] }))),
      'more than white space',
    ],
    [
      'thinking without a signature',
      talk(user, answers({ type: 'thinking', thinking: 'x', signature: '' }, text('x')), user),
      'signature: must be',
    ],
    [
      'a call that lost its thinking',
      { ...talk(user, answers(use('a')), says(result('a'))), thinking: enabled },
      'must start with a thinking block',
    ],
    ['a budget that is too small', body({ thinking: { type: 'enabled', budget_tokens: 500 } }), 'an integer from 1024'],
    ['a budget over the limit', body({ thinking: { type: 'enabled', budget_tokens: 2048 } }), 'less than max_tokens'],
    ['a temperature with thinking', body({ thinking: enabled, temperature: 0.5 }), 'must be 1 or absent'],
    [
      'a forced tool with thinking',
      body({ thinking: enabled, tools: [tool], tool_choice: { type: 'any' } }),
      'must not force',
    ],
    [
      'a budget for adaptive thinking',
      body({ thinking: { type: 'adaptive', budget_tokens: 1024 } }),
      'unknown key "budget_tokens"',
    ],
    ['too warm', body({ temperature: 1.5 }), 'a number from 0 to 1'],
    ['five marks', talk(says(...[1, 2, 3, 4, 5].map((n) => text(`t${n}`, mark)))), 'at most 4'],
    ['a mark on thinking', talk(user, answers({ ...thinking, ...mark }, text('x')), user), 'may not bear a cache mark'],
    ['an unknown mark', talk(says(text('x', { cache_control: { type: 'forever' } }))), 'must be {type: "ephemeral"'],
    [
      'a long mark after a short one',
      { ...talk(says(text('x', { cache_control: { type: 'ephemeral', ttl: '1h' } }))), system: [text('s', mark)] },
      'must not follow a mark of 5m',
    ],
    ['an empty system block', body({ system: [text('')] }), 'more than white space'],
    [
      'an image of another type',
      image({ type: 'base64', media_type: 'image/svg+xml', data: PIXEL }),
      'must be one of image/jpeg',
    ],
    [
      'an image that is not base64',
      image({ type: 'base64', media_type: 'image/png', data: 'data:xyz' }),
      'valid base64',
    ],
    ['a tool without a schema', body({ tools: [{ name: 'x' }] }), 'must be a JSON Schema object'],
    [
      'a tool whose input is no object',
      body({ tools: [{ name: 'x', input_schema: { type: 'array' } }] }),
      'type must be "object"',
    ],
    [
      'a tool with a union on top',
      body({ tools: [{ name: 'x', input_schema: { type: 'object', anyOf: [] } }] }),
      'anyOf is not allowed',
    ],
    ['a tool name of 129 characters', body({ tools: [{ ...tool, name: 'x'.repeat(129) }] }), '{1,128}'],
    ['two tools of one name', body({ tools: [tool, tool] }), 'duplicate tool name'],
    ['a choice without tools', body({ tool_choice: { type: 'auto' } }), 'is allowed only with tools'],
    [
      "a choice in the other API's words",
      body({ tools: [tool], tool_choice: 'auto' }),
      'tool_choice: must be an object',
    ],
    [
      'a choice of a tool that is not there',
      body({ tools: [tool], tool_choice: { type: 'tool', name: 'x' } }),
      'not offered',
    ],
    [
      'a lone surrogate in a tool input',
      talk(user, answers(use('a', { input: { path: '\udc00' } })), says(result('a'))),
      'lone surrogate',
    ],
  ])('refuses %s', (_, request, rule) => {
    expect(validateAnthropicRequest(request).join('\n')).toContain(rule);
  });
});
