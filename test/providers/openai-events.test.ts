import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { fromOpenAiEvents } from '../../src/extensions/openai/chat-events.ts';
import { toOpenAiRequest } from '../../src/extensions/openai/chat-request.ts';
import { COMPATIBLE } from '../../src/extensions/openai/chat.ts';
import type { AssistantPart, ModelEvent } from '../../src/core/providers/provider.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { assistant, request, result, user } from './dialects.ts';

const CONTEXT = {
  provider: 'local',
  host: '127.0.0.1:1',
  model: 'asked',
  toolChoice: 'auto',
  keyVariable: null,
  secrets: [],
  now: 0,
} as const;

/** Reads chunks as compatible servers send them, which is not always as the types have it. */
async function read(chunks: readonly unknown[], failure?: Error): Promise<ModelEvent | undefined> {
  async function* stream(): AsyncGenerator<OpenAI.ChatCompletionChunk> {
    for (const chunk of chunks) yield chunk as OpenAI.ChatCompletionChunk;
    if (failure !== undefined) throw failure;
    await Promise.resolve();
  }
  let last: ModelEvent | undefined;
  for await (const event of fromOpenAiEvents(stream(), CONTEXT, systemClock)) last = event;
  return last;
}

const delta = (change: object): unknown => ({ choices: [{ delta: change, finish_reason: null }] });
const finish = (reason: string): unknown => ({ choices: [{ delta: {}, finish_reason: reason }] });
const piece = (call: object): unknown => delta({ tool_calls: [call] });

test('calls that a server does not count are told apart by their ids', async () => {
  const last = await read([
    piece({ id: 'a', function: { name: 'one', arguments: '{' } }),
    piece({ function: { arguments: '}' } }),
    piece({ id: 'b', function: { name: 'two', arguments: '{}' } }),
    finish('tool_calls'),
  ]);
  expect(last).toMatchObject({
    response: {
      content: [
        { id: 'a', arguments: '{}' },
        { id: 'b', name: 'two' },
      ],
    },
  });
});

test('calls that all claim the index 0 are told apart by their ids', async () => {
  const last = await read([
    piece({ index: 0, id: 'a', function: { name: 'one', arguments: '{}' } }),
    piece({ index: 0, id: 'b', function: { name: 'two', arguments: '{}' } }),
    finish('tool_calls'),
  ]);
  expect(last).toMatchObject({ response: { content: [{ name: 'one' }, { name: 'two' }] } });
});

test('an id and a name repeated in every piece belong to one call', async () => {
  const last = await read([
    piece({ index: 0, id: 'a', function: { name: 'one', arguments: '{"x"' } }),
    piece({ index: 0, id: 'a', function: { name: 'one', arguments: ':1}' } }),
    finish('tool_calls'),
  ]);
  expect(last).toMatchObject({ response: { content: [{ name: 'one', arguments: '{"x":1}' }] } });
});

test('calls that end with "stop" are calls all the same', async () => {
  const last = await read([piece({ index: 0, id: 'a', function: { name: 'one', arguments: '{}' } }), finish('stop')]);
  expect(last).toMatchObject({ type: 'end', stopReason: 'tool-calls' });
});

test('reasoning sent in two fields at once is taken once', async () => {
  const last = await read([
    delta({ reasoning_content: 'hm', reasoning: 'hm' }),
    delta({ content: 'ok' }),
    finish('stop'),
  ]);
  expect(last).toMatchObject({ response: { content: [{ type: 'reasoning', text: 'hm' }, { text: 'ok' }] } });
});

test('chunks without choices, without a delta and with nulls are harmless', async () => {
  const last = await read([
    {},
    { choices: [] },
    { choices: [{}] },
    delta({ content: null }),
    delta({ content: 'ok' }),
    finish('stop'),
  ]);
  expect(last).toMatchObject({ type: 'end', response: { model: 'asked', usage: null, content: [{ text: 'ok' }] } });
});

test('tokens cached by DeepSeek are counted', async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 2, prompt_cache_hit_tokens: 8 };
  const last = await read([delta({ content: 'ok' }), finish('stop'), { choices: [], usage }]);
  expect(last).toMatchObject({ response: { usage: { input: 10, cached: 8, output: 2 } } });
});

test('an answer with its finish reason is whole, even if the connection breaks afterwards', async () => {
  const last = await read([delta({ content: 'ok' }), finish('stop')], new TypeError('terminated'));
  expect(last).toMatchObject({ type: 'end', response: { content: [{ text: 'ok' }] } });
});

test('a finish reason that means failure is a broken stream', async () => {
  expect(await read([delta({ content: 'ok' }), finish('error')])).toMatchObject({ kind: 'network', retryable: true });
});

test('a refusal in its own field is text and a refusal', async () => {
  const last = await read([delta({ refusal: 'I cannot do that.' }), finish('stop')]);
  expect(last).toMatchObject({ stopReason: 'refusal', response: { content: [{ text: 'I cannot do that.' }] } });
});

test('thoughts that come as parts of the content are told apart from the text', async () => {
  const thinking = [{ type: 'thinking', thinking: [{ type: 'text', text: 'hm' }] }];
  const last = await read([
    delta({ content: thinking }),
    delta({ content: [{ type: 'text', text: 'o' }] }),
    delta({ content: 'k' }),
    finish('stop'),
  ]);
  expect(last).toMatchObject({
    response: {
      content: [
        { type: 'reasoning', text: 'hm', data: { text: 'hm' } },
        { type: 'text', text: 'ok' },
      ],
    },
  });
});

test('what a server sends along with a call goes back with it, to the same model only', async () => {
  const signature = { google: { thought_signature: 'c2ln' } };
  const last = await read([
    piece({ index: 0, id: 'a', function: { name: 'one', arguments: '{}' } }),
    piece({ index: 1, id: 'b', function: { name: 'two', arguments: '{}' }, extra_content: signature }),
    finish('tool_calls'),
  ]);
  if (last?.type !== 'end') throw new Error('no answer');
  const content = last.response.content.map((part): AssistantPart => {
    return part.type === 'tool-call' ? { ...part, callId: `t.${part.id}`, providerCallId: part.id } : part;
  });
  const transcript = [user('go'), assistant(...content), result('t.a'), result('t.b')];
  const calls = (model: string): unknown => {
    const target = { provider: 'local', quirks: COMPATIBLE };
    const { messages } = toOpenAiRequest(request(transcript, { model }), target);
    return messages.find(({ role }) => role === 'assistant');
  };
  expect(calls('asked')).toMatchObject({ tool_calls: [{ id: 'a' }, { id: 'b', extra_content: signature }] });
  expect(JSON.stringify(calls('asked')).match(/extra_content/gu)).toHaveLength(1);
  expect(JSON.stringify(calls('another'))).not.toContain('extra_content');
});

describe('calls without ids and indexes are told apart', () => {
  const called = (path: string): object => ({ function: { name: 'read_file', arguments: JSON.stringify({ path }) } });
  const bare = { function: { name: 'list_dir', arguments: '' } };
  test.each<[string, readonly unknown[], readonly string[]]>([
    [
      'in a body',
      [{ choices: [{ message: { tool_calls: [called('a'), called('b')] }, finish_reason: 'tool_calls' }] }],
      ['{"path":"a"}', '{"path":"b"}'],
    ],
    [
      'in one piece of a stream',
      [delta({ tool_calls: [called('a'), called('b')] }), finish('stop')],
      ['{"path":"a"}', '{"path":"b"}'],
    ],
    [
      'in pieces of their own',
      [piece(called('a')), piece(called('b')), finish('stop')],
      ['{"path":"a"}', '{"path":"b"}'],
    ],
    ['by their names', [piece(bare), piece(called('a')), finish('stop')], ['', '{"path":"a"}']],
  ])('%s', async (_name, chunks, expected) => {
    const last = await read(chunks);
    expect(last).toMatchObject({ response: { content: expected.map((text) => ({ arguments: text })) } });
  });

  test('from a name repeated in every piece of one call', async () => {
    const part = (text: string): unknown => piece({ function: { name: 'one', arguments: text } });
    const last = await read([part('{"x":'), part('{"y":1}'), part('}'), part(''), finish('stop')]);
    expect(last).toMatchObject({ response: { content: [{ name: 'one', arguments: '{"x":{"y":1}}' }] } });
  });
});

test.each<[string, readonly unknown[], string]>([
  ['a string', ['0', '0'], '(0)(0)'],
  ['another one, and there is no first', [1, 1], '(1)(1)'],
  ['another one, and there are two of them', [2, 1, 2], '(1)'],
  ['another one before the first', [1, 0, 1], '(0)'],
  ['another one between the first', [1, 1, 0, 1, 0], '(0)(0)'],
])('the first choice is read, whenever it comes: its index is %s', async (_name, indexes, text) => {
  const said = indexes.map((index) => ({ choices: [{ index, delta: { content: `(${String(index)})` } }] }));
  for (const index of new Set([indexes[0], 0])) {
    const last = await read([...said, { choices: [{ index, delta: {}, finish_reason: 'stop' }] }]);
    if (index === 0 && !text.includes('0')) continue;
    expect(last).toMatchObject({ type: 'end', response: { content: [{ text }] } });
  }
});
