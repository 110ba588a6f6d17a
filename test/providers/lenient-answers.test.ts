import { describe, expect, test } from 'vitest';
import type { RawStep } from '../support/model-script.ts';
import { ask, DIALECTS, endOf, errorOf, type Dialect } from './dialects.ts';

/** Answers as servers really send them, byte for byte, though no specification has them. */

function dialectOf(name: Dialect['name']): Dialect {
  const found = DIALECTS.find((dialect) => dialect.name === name);
  if (found === undefined) throw new Error(`no dialect ${name}`);
  return found;
}

const [chat, responses, anthropic, ollama] = (['openai', 'openai-responses', 'anthropic', 'ollama'] as const).map(
  dialectOf,
) as [Dialect, Dialect, Dialect, Dialect];

const data = (...events: readonly unknown[]): RawStep => ({
  raw: events.map((event) => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}`),
});
const lines = (...events: readonly unknown[]): RawStep => ({
  raw: [`${events.map((event) => JSON.stringify(event)).join('\n')}\n`],
  contentType: 'application/x-ndjson',
});
const whole = (body: unknown): RawStep => ({ raw: [JSON.stringify(body)], contentType: 'application/json' });
const delta = (change: object, finish: string | null = null, more: object = {}): unknown => ({
  choices: [{ index: 0, delta: change, finish_reason: finish }],
  ...more,
});
const finish = (reason: string, more: object = {}): unknown => delta({}, reason, more);
const begins = {
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] },
};
const text = (words: string): readonly unknown[] => [
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: words } },
  { type: 'content_block_stop', index: 0 },
];
const ends = (reason: string): readonly unknown[] => [
  { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 2 } },
  { type: 'message_stop' },
];
const completed = (response: object): unknown => ({ type: 'response.completed', response });

describe('the usage of an answer is read', () => {
  const counted = { input: 1000, cached: 0, cacheWrite: 0, output: 20, reasoning: 0 };
  test.each<[string, unknown, object]>([
    ['with numbers as strings', finish('stop', { usage: { prompt_tokens: '1000', completion_tokens: '20' } }), counted],
    [
      'with cached tokens at the top, as Kimi sends them',
      finish('stop', { usage: { prompt_tokens: 1000, completion_tokens: 20, cached_tokens: 900 } }),
      { ...counted, cached: 900 },
    ],
    [
      'with cached tokens as DeepSeek counts them',
      finish('stop', { usage: { prompt_tokens: 1000, completion_tokens: 20, prompt_cache_hit_tokens: '800' } }),
      { ...counted, cached: 800 },
    ],
    [
      'from the choice',
      {
        choices: [
          { index: 0, delta: {}, finish_reason: 'stop', usage: { prompt_tokens: 1000, completion_tokens: 20 } },
        ],
      },
      counted,
    ],
    [
      'from where Groq puts it',
      finish('stop', { x_groq: { id: 'r', usage: { prompt_tokens: 1000, completion_tokens: 20 } } }),
      counted,
    ],
    [
      "with the provider's own cost",
      finish('stop', { usage: { prompt_tokens: 1000, completion_tokens: 20, cost: '0.0123' } }),
      { ...counted, costUsd: 0.0123 },
    ],
    [
      'as nothing when all numbers are nonsense',
      finish('stop', { usage: { prompt_tokens: 'many', completion_tokens: -1 } }),
      {},
    ],
  ])('%s', async (_name, last, expected) => {
    const { usage } = endOf(await ask(chat, data(delta({ content: 'hi' }), last, '[DONE]'))).response;
    expect(usage ?? {}).toEqual(expected);
  });

  test.each<[string, Dialect, RawStep]>([
    [
      'Responses',
      responses,
      data(
        { type: 'response.output_text.delta', delta: 'hi' },
        completed({ usage: { input_tokens: '1000', output_tokens: '20' } }),
      ),
    ],
    [
      'Anthropic',
      anthropic,
      data(
        { type: 'message_start', message: { ...begins.message, usage: { input_tokens: '1000', output_tokens: '1' } } },
        ...text('hi'),
        { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: '20' } },
        { type: 'message_stop' },
      ),
    ],
    ['Ollama', ollama, lines({ message: { content: 'hi' }, done: true, prompt_eval_count: '1000', eval_count: '20' })],
  ])('with numbers as strings from %s', async (_name, dialect, step) => {
    expect(endOf(await ask(dialect, step)).response.usage).toEqual(counted);
  });
});

describe('a tool call without a name is dropped and the text kept', () => {
  test.each<[string, Dialect, RawStep]>([
    [
      'Chat Completions',
      chat,
      data(
        delta({ content: 'All done.' }),
        delta({ tool_calls: [{ index: 0, id: '', type: 'function' }] }),
        finish('stop'),
        '[DONE]',
      ),
    ],
    [
      'Responses',
      responses,
      data(
        { type: 'response.output_text.delta', output_index: 0, delta: 'All done.' },
        {
          type: 'response.output_item.done',
          output_index: 1,
          item: { type: 'function_call', call_id: '', name: '', arguments: '' },
        },
        completed({ status: 'completed', output: [] }),
      ),
    ],
    [
      'Anthropic',
      anthropic,
      data(
        begins,
        ...text('All done.'),
        { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: '', name: '', input: {} } },
        { type: 'content_block_stop', index: 1 },
        ...ends('tool_use'),
      ),
    ],
    [
      'Ollama',
      ollama,
      lines({ message: { content: 'All done.', tool_calls: [{ function: { name: '', arguments: {} } }] }, done: true }),
    ],
  ])('%s', async (_name, dialect, step) => {
    const end = endOf(await ask(dialect, step));
    expect(end.stopReason).toBe('stop');
    expect(end.response.content).toEqual([{ type: 'text', text: 'All done.' }]);
  });

  test('beside a call that has one, which runs', async () => {
    const named = { index: 1, id: 'b', function: { name: 'read_file', arguments: '{}' }, extra_content: { seal: 'x' } };
    const end = endOf(
      await ask(chat, data(delta({ tool_calls: [{ index: 0, id: 'a' }, named] }), finish('tool_calls'))),
    );
    expect(end.stopReason).toBe('tool-calls');
    expect(end.response.content).toMatchObject([{ data: { extras: { 0: { seal: 'x' } } } }, { name: 'read_file' }]);
  });
});

describe('an answer is whole', () => {
  test('without a finish reason, after a clean [DONE]', async () => {
    const end = endOf(await ask(chat, data(delta({ content: 'Hello' }), '[DONE]')));
    expect(end).toMatchObject({ stopReason: 'stop', response: { content: [{ text: 'Hello' }] } });
  });

  test('but not when the stream only ends', async () => {
    expect(errorOf(await ask(chat, data(delta({ content: 'Hello' }))))).toMatchObject({ kind: 'network' });
  });

  test.each<[string, Dialect, unknown]>([
    [
      'Chat Completions',
      chat,
      { choices: [{ index: 0, message: { role: 'assistant', content: 'Hello' }, finish_reason: 'stop' }] },
    ],
    [
      'Responses',
      responses,
      {
        object: 'response',
        error: null,
        status: 'completed',
        output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello' }] }],
      },
    ],
    [
      'Anthropic',
      anthropic,
      { ...begins.message, content: [{ type: 'text', text: 'Hello' }], stop_reason: 'end_turn' },
    ],
    ['Ollama', ollama, { message: { role: 'assistant', content: 'Hello' }, done: true, done_reason: 'stop' }],
  ])('as a JSON body instead of a stream: %s', async (_name, dialect, body) => {
    const heard = await ask(dialect, whole(body));
    expect(heard.text).toBe('Hello');
    expect(endOf(heard).response.content).toEqual([{ type: 'text', text: 'Hello' }]);
  });

  test('with calls in a JSON body', async () => {
    const message = {
      content: null,
      tool_calls: [{ id: 'c', function: { name: 'read_file', arguments: { path: 'a' } } }],
    };
    const end = endOf(await ask(chat, whole({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })));
    expect(end.response.content).toEqual([
      { type: 'tool-call', id: 'c', name: 'read_file', arguments: '{"path":"a"}' },
    ]);
  });
});

test('an error in a JSON body with status 200 is the error', async () => {
  for (const dialect of [chat, responses, anthropic]) {
    const step = whole({ error: { message: 'Slow down', type: 'rate_limit_error' } });
    expect(errorOf(await ask(dialect, step)), dialect.name).toMatchObject({ kind: 'rate-limit' });
  }
});

test.each<[number, string, object]>([
  [1000, 'unknown error', { kind: 'overloaded', retryable: true }],
  [1001, 'request timeout', { kind: 'timeout' }],
  [1002, 'rate limit', { kind: 'rate-limit', retryable: true }],
  [1004, 'not authorized / token not match group / cookie is missing, log in again', { kind: 'auth' }],
  [1008, 'insufficient balance', { kind: 'quota' }],
  [1026, 'input new_sensitive', { kind: 'refusal' }],
  [1027, 'output new_sensitive', { kind: 'refusal' }],
  [1039, 'token limit', { kind: 'context-overflow' }],
  [2013, 'invalid params', { kind: 'bad-request' }],
  [2049, 'invalid api key', { kind: 'auth' }],
  [2056, 'usage limit exceeded', { kind: 'rate-limit', retryable: false }],
])("MiniMax's code %i in an answer with status 200 is its error: %s", async (code, said, expected) => {
  const body = { id: 'x', choices: null, base_resp: { status_code: code, status_msg: said } };
  for (const step of [whole(body), data(delta({ content: 'Half' }), body), data(body, '[DONE]')]) {
    expect(errorOf(await ask(chat, step))).toMatchObject(expected);
  }
});

test("vLLM's error in an answer with status 200 is that error", async () => {
  const error = { object: 'error', message: 'maximum context length is 10 tokens', type: 'BadRequestError', code: 400 };
  for (const step of [whole(error), data(delta({ content: 'Half' }), error, '[DONE]')]) {
    expect(errorOf(await ask(chat, step)).kind).toBe('context-overflow');
  }
});

test("an answer in which MiniMax says that it's fine is an answer", async () => {
  const fine = { base_resp: { status_code: 0, status_msg: '' } };
  const end = endOf(await ask(chat, data(delta({ content: 'Hi' }, null, fine), finish('stop', fine), '[DONE]')));
  expect(end.response.content).toEqual([{ type: 'text', text: 'Hi' }]);
});

describe.each(['network_error', 'abort', 'error', 'timeout', 'cancelled'])(
  'an answer that ends with "%s" is broken',
  (reason) => {
    test.each<[string, Dialect, RawStep]>([
      ['Chat Completions', chat, data(delta({ content: 'Half an' }), finish(reason), '[DONE]')],
      [
        'Responses',
        responses,
        data(
          { type: 'response.output_text.delta', delta: 'Half an' },
          {
            type: 'response.incomplete',
            response: { status: 'incomplete', incomplete_details: { reason } },
          },
        ),
      ],
      ['Anthropic', anthropic, data(begins, ...text('Half an'), ...ends(reason))],
      ['Ollama', ollama, lines({ message: { content: 'Half an' }, done: true, done_reason: reason })],
    ])('%s', async (_name, dialect, step) => {
      expect(errorOf(await ask(dialect, step))).toMatchObject({ kind: 'network', retryable: true });
    });
  },
);

describe.each(['MALFORMED_FUNCTION_CALL', 'malformed_function_call', 'function_call_filter: MALFORMED_FUNCTION_CALL'])(
  'an answer that ends with "%s" could not be used',
  (reason) => {
    test.each<[string, Dialect, RawStep]>([
      ['Chat Completions', chat, data(finish(reason), '[DONE]')],
      [
        'Responses',
        responses,
        data({ type: 'response.incomplete', response: { status: 'incomplete', incomplete_details: { reason } } }),
      ],
      ['Anthropic', anthropic, data(begins, ...ends(reason))],
      ['Ollama', ollama, lines({ message: { content: '' }, done: true, done_reason: reason })],
    ])('%s', async (_name, dialect, step) => {
      expect(errorOf(await ask(dialect, step))).toMatchObject({ kind: 'malformed', retryable: true });
    });
  },
);

describe('a call is understood', () => {
  const called = [{ type: 'tool-call', name: 'read_file', arguments: '{"path":"a"}' }];

  test('in the field of before there could be several', async () => {
    const end = endOf(
      await ask(
        chat,
        data(
          delta({ function_call: { name: 'read_file', arguments: '{"path"' } }),
          delta({ function_call: { arguments: ':"a"}' } }),
          finish('function_call'),
          '[DONE]',
        ),
      ),
    );
    expect(end).toMatchObject({ stopReason: 'tool-calls', response: { content: called } });
  });

  test.each<[string, Dialect, RawStep]>([
    [
      'Chat Completions',
      chat,
      data(
        delta({ tool_calls: [{ index: 0, id: 'c', function: { name: 'read_file', arguments: { path: 'a' } } }] }),
        finish('tool_calls'),
      ),
    ],
    [
      'Responses',
      responses,
      data(
        {
          type: 'response.output_item.done',
          output_index: 0,
          item: { type: 'function_call', call_id: 'c', name: 'read_file', arguments: { path: 'a' } },
        },
        completed({ status: 'completed' }),
      ),
    ],
    [
      'Anthropic',
      anthropic,
      data(
        begins,
        {
          type: 'content_block_start',
          index: 0,
          content_block: { type: 'tool_use', id: 'c', name: 'read_file', input: '{"path":"a"}' },
        },
        { type: 'content_block_stop', index: 0 },
        ...ends('tool_use'),
      ),
    ],
    [
      'Ollama',
      ollama,
      lines({ message: { tool_calls: [{ function: { name: 'read_file', arguments: { path: 'a' } } }] }, done: true }),
    ],
  ])('with arguments of the other kind: %s', async (_name, dialect, step) => {
    expect(endOf(await ask(dialect, step))).toMatchObject({ stopReason: 'tool-calls', response: { content: called } });
  });

  test('with another one, in a Responses stream without output_index', async () => {
    const item = (id: string, path: string) => ({
      type: 'function_call',
      id,
      call_id: `call_${id}`,
      name: 'read_file',
      arguments: JSON.stringify({ path }),
    });
    const one = { ...item('i1', ''), arguments: '' };
    const two = { ...item('i2', ''), arguments: '' };
    const streams = {
      'one after the other': data(
        { type: 'response.output_item.added', item: one },
        { type: 'response.function_call_arguments.delta', item_id: 'i1', delta: '{"path":"a"}' },
        { type: 'response.output_item.done', item: item('i1', 'a') },
        { type: 'response.output_item.added', item: two },
        { type: 'response.output_item.done', item: item('i2', 'b') },
        completed({ status: 'completed' }),
      ),
      mixed: data(
        { type: 'response.output_item.added', item: one },
        { type: 'response.output_item.added', item: two },
        { type: 'response.function_call_arguments.delta', item_id: 'i1', delta: '{"path":"a"}' },
        { type: 'response.function_call_arguments.delta', item_id: 'i2', delta: '{"path":"b"}' },
        { type: 'response.output_item.done', item: one },
        { type: 'response.output_item.done', item: two },
        completed({ status: 'completed' }),
      ),
      'done only': data(
        { type: 'response.output_item.done', item: item('i1', 'a') },
        { type: 'response.output_item.done', item: item('i2', 'b') },
        completed({ status: 'completed' }),
      ),
    };
    for (const [name, step] of Object.entries(streams)) {
      expect(endOf(await ask(responses, step)).response.content, name).toMatchObject([
        { id: 'call_i1', arguments: '{"path":"a"}' },
        { id: 'call_i2', arguments: '{"path":"b"}' },
      ]);
    }
  });
});

test('a Responses answer that is incomplete after its first words has these words and is marked as cut', async () => {
  const end = endOf(
    await ask(
      responses,
      data(
        { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'm', content: [] } },
        { type: 'response.output_text.delta', output_index: 0, item_id: 'm', delta: 'half' },
        {
          type: 'response.incomplete',
          response: { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' }, output: [] },
        },
      ),
    ),
  );
  expect(end).toMatchObject({ stopReason: 'length', response: { content: [{ type: 'text', text: 'half' }] } });
});

test('of several choices the first is taken, in whatever order they come', async () => {
  const choice = (index: number, content: string, reason: string | null = null): unknown => ({
    index,
    delta: { content },
    finish_reason: reason,
  });
  const heard = await ask(
    chat,
    data(
      { choices: [choice(1, 'second'), choice(0, 'first')] },
      { choices: [choice(1, '!', 'stop')] },
      { choices: [choice(0, '.', 'stop')] },
      '[DONE]',
    ),
  );
  expect(heard.text).toBe('first.');
});

test('an Anthropic stream without event lines is read by the type in its data', async () => {
  const heard = await ask(anthropic, data(begins, { type: 'ping' }, ...text('Hello'), ...ends('end_turn')));
  expect(heard.text).toBe('Hello');
  expect(endOf(heard)).toMatchObject({ stopReason: 'stop', response: { content: [{ text: 'Hello' }] } });
});

test('an Anthropic error without an event line is the error', async () => {
  const error = { type: 'overloaded_error', message: 'Overloaded' };
  expect(errorOf(await ask(anthropic, data(begins, { type: 'error', error })))).toMatchObject({ kind: 'overloaded' });
});
