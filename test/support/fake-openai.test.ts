import OpenAI, { APIConnectionError, APIError, AuthenticationError, RateLimitError } from 'openai';
import { expect, test } from 'vitest';
import { startFakeOpenAi } from './fake-openai.ts';
import type { FakeModelOptions } from './fake-model.ts';
import { waitFor } from './wait.ts';

const TOOLS: OpenAI.Chat.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'read_file', parameters: { type: 'object', properties: {} } } },
];

async function open(options: FakeModelOptions = {}) {
  const server = await startFakeOpenAi(options);
  const client = new OpenAI({ apiKey: 'key', baseURL: server.url, maxRetries: 0 });
  const ask = (text = 'hi', signal?: AbortSignal) =>
    client.chat.completions.create(
      {
        model: 'm',
        messages: [{ role: 'user', content: text }],
        tools: TOOLS,
        stream: true,
        stream_options: { include_usage: true },
      },
      { signal },
    );
  return { server, client, ask, [Symbol.asyncDispose]: () => server.close() };
}

async function collect(stream: AsyncIterable<OpenAI.Chat.ChatCompletionChunk>) {
  const chunks: OpenAI.Chat.ChatCompletionChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const deltas = chunks.flatMap((chunk) => chunk.choices.map((choice) => choice.delta));
  return {
    chunks,
    deltas,
    text: deltas.map((delta) => delta.content ?? '').join(''),
    finishReasons: chunks.flatMap((chunk) => chunk.choices.flatMap((choice) => choice.finish_reason ?? [])),
    usage: chunks.at(-1)?.usage,
  };
}

/** What the stream gives before it breaks, and how it breaks. */
async function collectUntilBroken(stream: AsyncIterable<OpenAI.Chat.ChatCompletionChunk>) {
  let chunks = 0;
  try {
    for await (const _ of stream) chunks += 1;
  } catch (error) {
    return { chunks, error };
  }
  return { chunks, error: undefined };
}

test('a streamed text starts with the role, ends with a finish reason, then the usage without choices', async () => {
  await using api = await open();
  api.server.reply({ text: 'Grüße an die 🌍, in pieces', chunkSize: 3, usage: { input: 7, cached: 3, output: 2 } });
  const { chunks, deltas, text, finishReasons, usage } = await collect(await api.ask());
  expect(deltas[0]?.role).toBe('assistant');
  expect(text).toBe('Grüße an die 🌍, in pieces');
  expect(chunks.length).toBeGreaterThan(9);
  expect(finishReasons).toEqual(['stop']);
  expect(chunks.at(-1)?.choices).toEqual([]);
  expect(usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 });
  expect(usage?.prompt_tokens_details?.cached_tokens).toBe(3);
});

test('streamed calls come in pieces that fit together again', async () => {
  await using api = await open();
  api.server.reply({
    text: 'Looking.',
    calls: [
      { name: 'read_file', arguments: { path: 'a long enough name.md' } },
      { name: 'read_file', arguments: '{"path": "b', id: 'own' },
    ],
  });
  const { deltas, finishReasons } = await collect(await api.ask());
  const parts = deltas.flatMap((delta) => delta.tool_calls ?? []);
  const joined = (index: number): string =>
    parts
      .filter((part) => part.index === index)
      .map((part) => part.function?.arguments ?? '')
      .join('');
  expect(parts.length).toBeGreaterThan(4);
  expect(joined(0)).toBe('{"path":"a long enough name.md"}');
  expect(joined(1)).toBe('{"path": "b');
  expect(parts.flatMap((part) => part.id ?? [])).toEqual(['call_0_0', 'own']);
  expect(finishReasons).toEqual(['tool_calls']);
});

test('the SDK puts a stream together into a whole message', async () => {
  await using api = await open();
  api.server.reply({ calls: [{ name: 'read_file', arguments: { path: 'x' } }] });
  const stream = api.client.chat.completions.stream({
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tools: TOOLS,
  });
  const { choices } = await stream.finalChatCompletion();
  expect(choices[0]?.message.tool_calls?.[0]).toMatchObject({
    function: { name: 'read_file', arguments: '{"path":"x"}' },
  });
});

test('an answer can be whole, with its calls and its usage', async () => {
  await using api = await open();
  api.server.reply({ calls: [{ name: 'read_file', arguments: { path: 'x' } }], reasoning: 'hm', usage: { output: 9 } });
  const whole = await api.client.chat.completions.create({
    model: 'm',
    messages: [{ role: 'user', content: 'hi' }],
    tools: TOOLS,
  });
  expect(whole.choices[0]).toMatchObject({
    finish_reason: 'tool_calls',
    message: { content: null, reasoning_content: 'hm' },
  });
  expect(whole.usage?.completion_tokens).toBe(9);
});

test('reasoning is streamed before the text, and usage can be left out', async () => {
  await using api = await open();
  api.server.reply({ reasoning: 'let me think', text: 'so', usage: null });
  const { deltas, usage } = await collect(await api.ask());
  const reasoning = deltas.map((delta) => ('reasoning_content' in delta ? delta.reasoning_content : '')).join('');
  expect(reasoning).toBe('let me think');
  expect(usage).toBeNull();
});

test('a finish reason can be another one, or missing together with [DONE]', async () => {
  await using api = await open();
  api.server.reply(
    { text: 'cut', finishReason: 'length' },
    { text: 'x', finishReason: null, noEnd: true, usage: null },
  );
  expect((await collect(await api.ask())).finishReasons).toEqual(['length']);
  expect(await collect(await api.ask())).toMatchObject({ text: 'x', finishReasons: [] });
});

test("an error has the API's shape and its headers", async () => {
  await using api = await open();
  api.server.reply({
    error: { status: 429, message: 'Slow down', code: 'rate_limit_exceeded', headers: { 'retry-after': '7' } },
  });
  const error: unknown = await api.ask().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(RateLimitError);
  expect(error).toMatchObject({ status: 429, code: 'rate_limit_exceeded' });
  expect(error instanceof APIError && error.headers?.get('retry-after')).toBe('7');
});

test("an error can be a proxy's page", async () => {
  await using api = await open();
  api.server.reply({ error: { status: 502, body: '<h1>Bad gateway</h1>' } });
  await expect(api.ask()).rejects.toMatchObject({ status: 502, error: undefined });
});

test("another key than the server's is refused", async () => {
  await using api = await open({ apiKey: 'right' });
  await expect(api.ask()).rejects.toBeInstanceOf(AuthenticationError);
  expect(api.server.requests).toEqual([]);
});

test('a reset before the answer is a connection error', async () => {
  await using api = await open();
  api.server.reply({ fault: 'reset' });
  await expect(api.ask()).rejects.toBeInstanceOf(APIConnectionError);
});

test('a reset in the middle comes after the events that were sent', async () => {
  await using api = await open();
  api.server.reply({ text: 'a long text that is never finished', fault: 'reset-mid', afterEvents: 3 });
  const { chunks, error } = await collectUntilBroken(await api.ask());
  expect(chunks).toBe(3);
  expect(String(error)).toContain('terminated');
});

test('an error event in the middle breaks the stream', async () => {
  await using api = await open();
  api.server.reply({ text: 'a long text', fault: 'error-mid', afterEvents: 1 });
  const { chunks, error } = await collectUntilBroken(await api.ask());
  expect(chunks).toBe(1);
  expect(error).toBeInstanceOf(APIError);
});

test.each([{ fault: 'hang' }, { text: 'a long text', fault: 'hang-mid' }, { text: 'x', fault: 'drip' }] as const)(
  'after $fault the client leaves, and the server knows',
  async (step) => {
    await using api = await open();
    api.server.reply(step);
    const controller = new AbortController();
    const asked = api.ask('hi', controller.signal).then(collectUntilBroken, (error: unknown) => ({ chunks: 0, error }));
    await waitFor(() => api.server.inFlight === 1, { what: 'the request' });
    controller.abort();
    await asked;
    await waitFor(() => api.server.requests[0]?.clientGone, { what: 'the server to see the client leave' });
  },
);

test('raw events are sent as they are', async () => {
  await using api = await open();
  api.server.reply({
    raw: ['data: {"choices":[{"index":0,"delta":{"content":"raw"}}]}', ': a comment', 'data: [DONE]'],
  });
  expect((await collect(await api.ask())).text).toBe('raw');
});

test('a handler answers by what it was asked, after the queue', async () => {
  await using api = await open({ handler: ({ view }) => `you said ${view.lastUserText}; ${view.tools.join()}` });
  api.server.reply('first');
  expect((await collect(await api.ask('a'))).text).toBe('first');
  expect((await collect(await api.ask('b'))).text).toBe('you said b; read_file');
  expect(api.server.requests.map((request) => request.body['model'])).toEqual(['m', 'm']);
});

test('an illegal request is refused and fails the test that made it', async () => {
  const api = await open();
  const asked = api.client.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: '' }] });
  await expect(asked).rejects.toMatchObject({ status: 400 });
  expect(api.server.violations).toEqual(['request 0: messages[0].content: must not be empty']);
  await expect(api.server.close()).rejects.toThrow('illegal requests');
});

test('a request for which nothing is scripted fails the test, unless that is expected', async () => {
  await using api = await open({ expectViolations: true });
  await expect(api.ask()).rejects.toMatchObject({ status: 400 });
  expect(api.server.violations).toEqual(['request 0: nothing is scripted for it']);
});

test('the models are listed', async () => {
  await using api = await open({ models: ['one', 'two'] });
  const models = await api.client.models.list();
  expect(models.data.map((model) => model.id)).toEqual(['one', 'two']);
});
