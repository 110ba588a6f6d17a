import { describe, expect, test } from 'vitest';
import { validateOpenAiRequest } from './validate-openai.ts';

type Body = Record<string, unknown>;

const PIXEL = 'iVBORw0KGgo=';
const schema = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] };
const user = { role: 'user', content: 'hello' };

describe('the Chat Completions validator', () => {
  const tool = { type: 'function', function: { name: 'read_file', description: 'Reads.', parameters: schema } };
  const call = (id: unknown, args: unknown = '{"path":"a"}', name: unknown = 'read_file'): unknown => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  });
  const calling = (...calls: unknown[]): Body => ({ role: 'assistant', content: null, tool_calls: calls });
  const result = (id: unknown, content: unknown = 'done'): Body => ({ role: 'tool', tool_call_id: id, content });
  const image = (url: string): Body => ({ role: 'user', content: [{ type: 'image_url', image_url: { url } }] });
  const body = (change: Body = {}): Body => ({ model: 'm', messages: [user], ...change });
  const talk = (...messages: unknown[]): Body => body({ messages });

  test.each<[string, Body]>([
    ['a bare question', body()],
    ['a system prompt in parts', talk({ role: 'system', content: [{ type: 'text', text: 'Be brief.' }] }, user)],
    ['a streamed request with usage', body({ stream: true, stream_options: { include_usage: true } })],
    [
      'tools with a named choice',
      body({ tools: [tool], tool_choice: { type: 'function', function: { name: 'read_file' } } }),
    ],
    ['results in another order than the calls', talk(user, calling(call('a'), call('b')), result('b'), result('a'))],
    ['text beside calls', talk(user, { ...calling(call('a')), content: 'Looking.' }, result('a'))],
    [
      'reasoning replayed to the server it came from',
      talk(user, { role: 'assistant', content: 'x', reasoning_content: 'hm' }, user),
    ],
    ['an image as a data URL', talk(image(`data:image/png;base64,${PIXEL}`))],
    ['an empty tool result', talk(user, calling(call('a')), result('a', ''))],
    ['two user messages in a row', talk(user, user)],
    ['limits at their edges', body({ temperature: 2, top_p: 0, max_completion_tokens: 1 })],
  ])('passes %s', (_, request) => {
    expect(validateOpenAiRequest(request)).toEqual([]);
  });

  test.each<[string, unknown, string]>([
    ['a body that is no object', [], 'must be a JSON object'],
    ['no model', body({ model: '' }), 'model: must be a non-empty string'],
    ['an unknown key', body({ max_output: 5 }), 'unknown key "max_output"'],
    ['no messages', talk(), 'messages: must be a non-empty list'],
    ['an unknown role', talk({ role: 'bot', content: 'x' }), 'must be one of system'],
    ['an unknown key in a message', talk({ ...user, at: 5 }), 'unknown key "at"'],
    ['an empty user message', talk({ role: 'user', content: '' }), 'must not be empty'],
    ['an empty list of parts', talk({ role: 'user', content: [] }), 'a non-empty list of parts'],
    ['an empty text part', talk({ role: 'user', content: [{ type: 'text', text: '' }] }), 'must be a non-empty string'],
    [
      'an assistant message without anything',
      talk(user, { role: 'assistant', content: null }, user),
      'needs content or tool calls',
    ],
    ['an empty list of calls', talk(user, { role: 'assistant', content: 'x', tool_calls: [] }, user), 'or be left out'],
    [
      'a call without its type',
      talk(user, calling({ id: 'a', function: {} }), result('a')),
      'must be {id, type: "function"',
    ],
    ['an empty call id', talk(user, calling(call('')), result('')), 'id: must be a non-empty string'],
    ['a call id of 41 characters', talk(user, calling(call('x'.repeat(41))), result('x'.repeat(41))), 'at most 40'],
    ['one id for two calls', talk(user, calling(call('a'), call('a')), result('a')), 'duplicate tool call id'],
    [
      'an id used again later',
      talk(user, calling(call('a')), result('a'), calling(call('a')), result('a')),
      'duplicate tool call id',
    ],
    ['arguments as an object', talk(user, calling(call('a', {})), result('a')), 'a string holding a JSON object'],
    ['broken arguments', talk(user, calling(call('a', '{"path":')), result('a')), 'a string holding a JSON object'],
    ['a call to an ill-named tool', talk(user, calling(call('a', '{}', 'read file')), result('a')), 'must match'],
    ['a call without a result', talk(user, calling(call('a')), user), 'has no result before this'],
    [
      'a call without a result at the end',
      talk(user, calling(call('a'), call('b')), result('a')),
      'the end: the tool call "b" has no result',
    ],
    ['a result after another message', talk(user, calling(call('a')), user, result('a')), 'answers no call'],
    ['a result for nothing', talk(user, result('a')), 'answers no call'],
    ['two results for one call', talk(user, calling(call('a')), result('a'), result('a')), 'second result'],
    [
      'a result without content',
      talk(user, calling(call('a')), result('a', null)),
      'must be a string or a non-empty list',
    ],
    [
      'an image in a tool result',
      talk(user, calling(call('a')), result('a', [{ type: 'image_url', image_url: { url: 'https://x/y.png' } }])),
      'only user messages may hold images',
    ],
    ['an image of another type', talk(image(`data:image/bmp;base64,${PIXEL}`)), 'must be one of image/png'],
    ['an image that is not base64', talk(image('data:image/png;base64,???')), 'must hold valid base64'],
    ['an image from a file', talk(image('file:///etc/passwd')), 'web address or a base64 data URL'],
    [
      'an assistant message at the end',
      talk(user, { role: 'assistant', content: 'Sure' }),
      'last message must come from the user',
    ],
    ['an empty list of tools', body({ tools: [] }), 'must be a list of 1 to 128'],
    ['an ill-named tool', body({ tools: [{ type: 'function', function: { name: 'a.b' } }] }), 'must match'],
    ['two tools of one name', body({ tools: [tool, tool] }), 'duplicate tool name'],
    [
      "a tool in the other API's shape",
      body({ tools: [{ name: 'x', input_schema: schema }] }),
      'must be {type: "function"',
    ],
    [
      'a tool whose input is no object',
      body({ tools: [{ type: 'function', function: { name: 'x', parameters: { type: 'string' } } }] }),
      'type must be "object"',
    ],
    ['a choice without tools', body({ tool_choice: 'auto' }), 'tool_choice: is allowed only with tools'],
    [
      'a choice of a tool that is not there',
      body({ tools: [tool], tool_choice: { type: 'function', function: { name: 'x' } } }),
      'not offered',
    ],
    ['an unknown choice', body({ tools: [tool], tool_choice: 'any' }), 'must be one of none'],
    ['parallel calls without tools', body({ parallel_tool_calls: true }), 'is allowed only with tools'],
    ['stream options without a stream', body({ stream_options: { include_usage: true } }), 'only with stream: true'],
    ['too warm', body({ temperature: 2.1 }), 'a number from 0 to 2'],
    ['no room for an answer', body({ max_tokens: 0 }), 'an integer from 1'],
    ['two limits', body({ max_tokens: 5, max_completion_tokens: 5 }), 'must not stand beside'],
    ['an unknown effort', body({ reasoning_effort: 'off' }), 'must be one of none, minimal'],
    ['a lone surrogate', talk({ role: 'user', content: 'a\ud83d' }), 'lone surrogate'],
  ])('refuses %s', (_, request, rule) => {
    expect(validateOpenAiRequest(request).join('\n')).toContain(rule);
  });
});
