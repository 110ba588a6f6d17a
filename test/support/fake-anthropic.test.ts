import Anthropic, {
  APIConnectionError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  RateLimitError,
} from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { startFakeAnthropic } from './fake-anthropic.ts';
import type { FakeModelOptions } from './fake-model.ts';
import { waitFor } from './wait.ts';

const TOOLS: Anthropic.Tool[] = [{ name: 'read_file', input_schema: { type: 'object', properties: {} } }];

async function open(options: FakeModelOptions = {}) {
  const server = await startFakeAnthropic(options);
  const client = new Anthropic({ apiKey: 'key', baseURL: server.url, maxRetries: 0 });
  const body = (text: string): Anthropic.MessageCreateParamsNonStreaming => ({
    model: 'm',
    max_tokens: 100,
    messages: [{ role: 'user', content: text }],
    tools: TOOLS,
  });
  return {
    server,
    client,
    stream: (text = 'hi', signal?: AbortSignal) => client.messages.stream(body(text), { signal }),
    create: (text = 'hi') => client.messages.create(body(text)),
    [Symbol.asyncDispose]: () => server.close(),
  };
}

test('a streamed text comes in pieces and the SDK puts it together', async () => {
  await using api = await open();
  api.server.reply({ text: 'Grüße an die 🌍, in pieces', chunkSize: 3, usage: { input: 7, cached: 3, output: 2 } });
  const texts: string[] = [];
  const message = await api
    .stream()
    .on('text', (delta) => texts.push(delta))
    .finalMessage();
  expect(texts.length).toBeGreaterThan(6);
  expect(message.content).toMatchObject([{ type: 'text', text: 'Grüße an die 🌍, in pieces' }]);
  expect(message.stop_reason).toBe('end_turn');
  expect(message.usage).toMatchObject({ input_tokens: 7, cache_read_input_tokens: 3, output_tokens: 2 });
});

test("the events come in the API's order", async () => {
  await using api = await open();
  api.server.reply({ text: 'hi', calls: [{ name: 'read_file', arguments: {} }], chunkSize: 50 });
  const types: string[] = [];
  for await (const event of api.stream()) types.push(event.type);
  expect(types).toEqual([
    'message_start',
    'content_block_start',
    'content_block_delta',
    'content_block_stop',
    'content_block_start',
    'content_block_delta',
    'content_block_delta',
    'content_block_stop',
    'message_delta',
    'message_stop',
  ]);
});

test('thinking with its signature, redacted thinking, text and calls arrive as blocks', async () => {
  await using api = await open();
  api.server.reply({
    reasoning: 'let me think about it',
    redacted: 'opaque',
    text: 'Looking.',
    calls: [
      { name: 'read_file', arguments: { path: 'a long enough name.md' } },
      { name: 'read_file', arguments: {}, id: 'own' },
    ],
  });
  const message = await api.stream().finalMessage();
  expect(message.content).toMatchObject([
    { type: 'thinking', thinking: 'let me think about it', signature: expect.stringMatching(/.+/u) },
    { type: 'redacted_thinking', data: 'opaque' },
    { type: 'text', text: 'Looking.' },
    { type: 'tool_use', id: 'toolu_0_0', name: 'read_file', input: { path: 'a long enough name.md' } },
    { type: 'tool_use', id: 'own', input: {} },
  ]);
  expect(message.stop_reason).toBe('tool_use');
});

test('an answer can be whole', async () => {
  await using api = await open();
  api.server.reply({ reasoning: 'hm', text: 'done', usage: { output: 9, reasoning: 4 } });
  const message = await api.create();
  expect(message.content).toMatchObject([{ type: 'thinking' }, { type: 'text', text: 'done' }]);
  expect(message.usage).toMatchObject({ output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } });
});

test('the stop reason can be another one', async () => {
  await using api = await open();
  api.server.reply({ text: 'cut', finishReason: 'max_tokens' });
  expect((await api.stream().finalMessage()).stop_reason).toBe('max_tokens');
});

test('a stream without its end leaves no message', async () => {
  await using api = await open();
  api.server.reply({ text: 'cut', fault: 'end-mid', afterEvents: 3 });
  await expect(api.stream().finalMessage()).rejects.toThrow(/stream ended|without/u);
});

test('broken arguments are sent as they are', async () => {
  await using api = await open();
  api.server.reply({ calls: [{ name: 'read_file', arguments: '{"path": nonsense' }] });
  await expect(api.stream().finalMessage()).rejects.toThrow(/JSON/u);
});

test.each([
  [429, RateLimitError, 'rate_limit_error'],
  [529, InternalServerError, 'overloaded_error'],
  [400, BadRequestError, 'invalid_request_error'],
] as const)("a status of %i has the API's shape", async (status, kind, type) => {
  await using api = await open();
  api.server.reply({ error: { status, message: 'No', headers: { 'retry-after': '7' } } });
  const error: unknown = await api.create().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(kind);
  expect(error).toMatchObject({ status, error: { type: 'error', error: { type, message: 'No' } } });
  expect(error instanceof APIError && error.headers?.get('retry-after')).toBe('7');
});

test('an error event in the middle breaks the stream with its type', async () => {
  await using api = await open();
  api.server.reply({ text: 'a long text', fault: 'error-mid', afterEvents: 3 });
  await expect(api.stream().finalMessage()).rejects.toMatchObject({ error: { error: { type: 'overloaded_error' } } });
});

test("another key than the server's is refused", async () => {
  await using api = await open({ apiKey: 'right' });
  await expect(api.create()).rejects.toBeInstanceOf(AuthenticationError);
});

test('a key in x-api-key is as good as a bearer', async () => {
  await using api = await open({ apiKey: 'right' });
  const client = new Anthropic({
    apiKey: null,
    baseURL: api.server.url,
    maxRetries: 0,
    defaultHeaders: { 'x-api-key': 'right', 'anthropic-version': '2023-06-01', authorization: null },
  });
  api.server.reply('welcome');
  const message = await client.messages.create({
    model: 'm',
    max_tokens: 5,
    messages: [{ role: 'user', content: 'x' }],
  });
  expect(message.content).toMatchObject([{ text: 'welcome' }]);
});

test('a reset before the answer is a connection error, one in the middle ends the stream', async () => {
  await using api = await open();
  api.server.reply(
    { fault: 'reset' },
    { text: 'a long text that is never finished', fault: 'reset-mid', afterEvents: 5 },
  );
  await expect(api.create()).rejects.toBeInstanceOf(APIConnectionError);
  const texts: string[] = [];
  const stream = api.stream().on('text', (delta) => texts.push(delta));
  await expect(stream.finalMessage()).rejects.toThrow(/terminated/u);
  expect(texts.join('')).toBe('a long text that is neve');
});

test.each([{ fault: 'hang' }, { text: 'a long text', fault: 'hang-mid' }, { text: 'x', fault: 'drip' }] as const)(
  'after $fault the client leaves, and the server knows',
  async (step) => {
    await using api = await open();
    api.server.reply(step);
    const controller = new AbortController();
    const asked = api.stream('hi', controller.signal).finalMessage();
    asked.catch(() => {});
    await waitFor(() => api.server.inFlight === 1, { what: 'the request' });
    controller.abort();
    await expect(asked).rejects.toBeInstanceOf(APIUserAbortError);
    await waitFor(() => api.server.requests[0]?.clientGone, { what: 'the server to see the client leave' });
  },
);

test('a handler sees the question and the results in common words', async () => {
  await using api = await open({
    handler: ({ view }) =>
      view.toolResults.length === 0
        ? { calls: [{ name: view.tools[0] ?? '', arguments: { path: view.lastUserText } }] }
        : `got ${view.toolResults.map((result) => result.text).join()} for ${view.lastUserText}`,
  });
  const first = await api.create('notes.md');
  const second = await api.client.messages.create({
    model: 'm',
    max_tokens: 100,
    tools: TOOLS,
    messages: [
      { role: 'user', content: 'notes.md' },
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_0_0', name: 'read_file', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_0_0', content: '42' }] },
    ],
  });
  expect(first.content).toMatchObject([{ id: 'toolu_0_0', input: { path: 'notes.md' } }]);
  expect(second.content).toMatchObject([{ text: 'got 42 for notes.md' }]);
});

test('an illegal request is refused and fails the test that made it', async () => {
  const api = await open();
  await expect(api.create(' ')).rejects.toBeInstanceOf(BadRequestError);
  expect(api.server.violations).toEqual(['request 0: messages[0].content: must hold more than white space']);
  await expect(api.server.close()).rejects.toThrow('illegal requests');
});
