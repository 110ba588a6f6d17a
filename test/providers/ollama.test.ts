import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { createOllamaProvider } from '../../src/extensions/ollama/chat.ts';
import { proveWindow } from '../../src/extensions/ollama/prove-window.ts';
import { openProvider } from '../../src/core/providers/open-provider.ts';
import type { ModelRequest, Provider } from '../../src/core/providers/provider.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import {
  startFakeOllama,
  type FakeOllama,
  type FakeOllamaOptions,
  type OllamaModelFacts,
} from '../support/fake-ollama.ts';
import { isRecord, records } from '../support/validate.ts';
import { assistant, call, endOf, errorOf, hear, request, result, user } from './dialects.ts';

const HELLO = request([user('hello')]);

function connect(server: FakeOllama, window: number | null = null, extraBody = {}): Provider {
  const endpoint = { name: 'ollama', apiKey: null, baseUrl: server.url, clock: systemClock, ollama: true, extraBody };
  return createOllamaProvider({ ...endpoint, hints: PROGRAM.vendors['ollama']?.hints }, () => window);
}

/** What one request says, for a model of which these facts are shown. */
async function sent(facts: OllamaModelFacts, more: Partial<ModelRequest> = {}, window: number | null = null) {
  await using server = await startFakeOllama({ pulled: { 'test-model': facts }, handler: () => 'ok' });
  endOf(await hear(connect(server, window), { ...HELLO, ...more }));
  const { body = {} } = server.requests[0] ?? {};
  return { ...body, options: isRecord(body['options']) ? body['options'] : {} } as Record<string, unknown> & {
    options: Record<string, unknown>;
  };
}

describe('the window that is asked for', () => {
  test.each<[string, OllamaModelFacts, number | null, number]>([
    ['is the usual one', {}, null, 32_768],
    ['is the configured one', {}, 20_000, 20_000],
    ['is no more than the model supports', { supported: 8_192 }, 20_000, 8_192],
    ['is that of the model file', { numCtx: 16_384 }, null, 16_384],
    ['is the configured one, whatever the model file says', { numCtx: 16_384 }, 20_000, 20_000],
  ])('%s', async (_title, facts, configured, expected) => {
    const body = await sent(facts, { temperature: 0.3, maxOutputTokens: 777 }, configured);
    expect(body.options).toEqual({ num_ctx: expected, num_predict: 777, temperature: 0.3 });
    expect(body).toMatchObject({ truncate: false, shift: false, stream: true });
    expect(body).not.toHaveProperty('keep_alive');
  });

  test('is the same in every call, so that the model is loaded once', async () => {
    await using server = await startFakeOllama({ handler: () => 'ok' });
    const provider = connect(server);
    await hear(provider, HELLO);
    await hear(provider, { ...HELLO, maxOutputTokens: 50, tools: [], reasoning: 'high' });
    expect(server.loads).toBe(1);
  });

  test('keeps the options of the configuration beside its own', async () => {
    await using server = await startFakeOllama({ handler: () => 'ok' });
    await hear(connect(server, null, { keep_alive: '30m', options: { top_k: 20 } }), HELLO);
    expect(server.requests[0]?.body).toMatchObject({ keep_alive: '30m', options: { top_k: 20, num_ctx: 32_768 } });
  });

  test('is never exceeded without a word: a longer prompt is a context overflow', async () => {
    await using server = await startFakeOllama({ handler: () => 'ok' });
    const long = request([user('x '.repeat(6_000)), assistant({ type: 'text', text: 'a' }), user('hello')]);
    expect(errorOf(await hear(connect(server, 2_048), long))).toMatchObject({ kind: 'context-overflow' });
    expect(server.seen).toEqual([]);
  });
});

describe('thinking', () => {
  test.each<[string, OllamaModelFacts, ModelRequest['reasoning'], unknown]>([
    ['is switched on', {}, 'medium', true],
    ['is switched off', {}, 'off', false],
    ['is at the level that the model knows', { thinkValues: ['low', 'medium', 'high'] }, 'high', 'high'],
    ['is left alone where it cannot be off', { thinkValues: ['low', 'medium', 'high'] }, 'off', undefined],
    ['is not asked of a model that cannot', { capabilities: ['completion', 'tools'] }, 'high', undefined],
    ['is not asked where the server does not say', { capabilities: null }, 'high', undefined],
  ])('%s', async (_title, facts, reasoning, expected) => {
    expect((await sent(facts, reasoning === undefined ? {} : { reasoning }))['think']).toBe(expected);
  });
});

describe('tools', () => {
  const mute = { pulled: { 'test-model': { capabilities: ['completion'] } }, handler: () => 'ok' };

  test('are not offered to a model without them, and the person is told so once', async () => {
    await using server = await startFakeOllama(mute);
    const provider = connect(server);
    const [first, second] = [endOf(await hear(provider, HELLO)), endOf(await hear(provider, HELLO))];
    expect(server.requests[0]?.view.tools).toEqual([]);
    expect(first.response.note).toContain('The model test-model cannot use tools');
    expect(second.response).not.toHaveProperty('note');
  });

  test('are offered where an old server does not say what a model can do', async () => {
    expect(records((await sent({ capabilities: null }))['tools'])).toHaveLength(1);
  });

  test('are left out for the last step, and a forced choice is refused before anything is sent', async () => {
    await using server = await startFakeOllama({ handler: () => 'ok' });
    await hear(connect(server), { ...HELLO, toolChoice: 'none' });
    expect(server.requests[0]?.view.tools).toEqual([]);
    const error = errorOf(await hear(connect(server), { ...HELLO, toolChoice: { tool: 'read_file' } }));
    expect(error.kind).toBe('unsupported-tool-choice');
    expect(server.requests).toHaveLength(1);
  });

  test('are called without ids by older servers, and each result finds its call', async () => {
    await using server = await startFakeOllama({ handler: () => 'ok' });
    server.reply({
      calls: [
        { name: 'read_file', arguments: { path: 'a' } },
        { name: 'read_file', arguments: {} },
      ],
    });
    const { content } = endOf(await hear(connect(server), HELLO)).response;
    expect(content).toEqual([
      { type: 'tool-call', id: '', name: 'read_file', arguments: '{"path":"a"}' },
      { type: 'tool-call', id: '', name: 'read_file', arguments: '{}' },
    ]);
    const after = [user('go'), assistant(call('t.1', ''), call('t.2', '')), result('t.1', 'one'), result('t.2', 'two')];
    await hear(connect(server), request(after));
    expect(server.requests[1]?.view.toolResults).toEqual([
      { id: 't_1', text: 'one' },
      { id: 't_2', text: 'two' },
    ]);
  });
});

test('images are not sent to a model that cannot see', async () => {
  const pulled = { 'test-model': { capabilities: ['completion', 'tools'] } };
  await using server = await startFakeOllama({ pulled, handler: () => 'ok' });
  const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
  const error = errorOf(await hear(connect(server), request([{ role: 'user', content: [image] }])));
  expect(error).toMatchObject({ kind: 'bad-request', about: 'images' });
  expect(server.requests).toEqual([]);
});

describe('failures', () => {
  test('a model that was not pulled names the command that gets it', async () => {
    await using server = await startFakeOllama({ pulled: {} });
    const error = errorOf(await hear(connect(server), HELLO));
    expect(error).toMatchObject({ kind: 'bad-request', retryable: false, status: 404 });
    expect(error.message).toMatch(
      /does not know the model "test-model" \(404\): `.+`\. Get it with: ollama pull test-model$/u,
    );
  });

  test('an Ollama that does not run names the command that starts it', async () => {
    const server = await startFakeOllama();
    await server.close();
    const error = errorOf(await hear(connect(server), HELLO));
    expect(error.message).toContain('is the server running? Start it on that machine with: ollama serve.');
  });

  test.each([
    [
      'before the answer',
      { error: { status: 500, message: 'llama runner process has terminated: cudaMalloc failed: out of memory' } },
    ],
    ['in the middle', { raw: ['{"error":"CUDA error: out of memory"}'], contentType: 'application/x-ndjson' }],
  ])('too little memory (%s) names the setting and is not tried again', async (_when, step) => {
    await using server = await startFakeOllama({ pulled: { 'test-model': {} } });
    server.reply(step);
    const error = errorOf(await hear(connect(server), HELLO));
    expect(error).toMatchObject({ kind: 'bad-request', about: 'model', retryable: false });
    expect(error.message).toContain('Set models."ollama/test-model".contextWindow to fewer tokens');
  });

  test('a model that was loaded and said nothing is no answer', async () => {
    await using server = await startFakeOllama();
    server.reply({ text: '', finishReason: 'load' });
    expect(errorOf(await hear(connect(server), HELLO))).toMatchObject({ kind: 'malformed', retryable: true });
  });
});

test('an address of the OpenAI-compatible API is understood, and one of kind openai stays in that API', async () => {
  await using server = await startFakeOllama({ handler: () => 'ok' });
  const open = (kind?: string): Provider =>
    openProvider(
      'ollama',
      { kind, baseUrl: `${server.url}/v1` },
      { program: PROGRAM, apiKey: null, clock: systemClock },
    );
  expect(endOf(await hear(open(), HELLO)).stopReason).toBe('stop');
  expect(server.requests).toHaveLength(1);
  expect(endOf(await hear(open('openai'), HELLO)).stopReason).toBe('stop');
  expect(server.requests).toHaveLength(1);
});

describe('a proof of the window', () => {
  async function prove(options: FakeOllamaOptions, window: number, kind = 'ollama') {
    await using server = await startFakeOllama({
      handler: ({ text }) => /to remember is (\S+)\./u.exec(text)?.[1] ?? 'I do not know.',
      ...options,
    });
    const config = { kind, baseUrl: `${server.url}/v1` };
    const provider = openProvider('ollama', config, {
      program: PROGRAM,
      apiKey: null,
      windowOf: () => window,
      clock: systemClock,
    });
    const { signal } = new AbortController();
    return await proveWindow({ provider, model: 'test-model', window, marker: 'ferry-1f', signal });
  }

  test('is a long prompt that is counted whole, and its first word comes back', async () => {
    const proof = await prove({}, 32_768);
    expect(proof).toMatchObject({ kind: 'proven', marker: true });
    expect(proof).toHaveProperty('tokens', expect.closeTo(31_700, -3));
  });

  test('does not depend on a model that does as it is told', async () => {
    expect(await prove({ handler: () => 'Hello!' }, 32_768)).toMatchObject({ kind: 'proven', marker: false });
  });

  test('finds what is cut without a word, even where the model says the right word', async () => {
    expect(await prove({ ignores: 'options' }, 32_768)).toEqual({ kind: 'cut', tokens: 4_096 });
  });

  test('finds nothing out where tokens are not counted, or the call fails', async () => {
    const silent = await prove({ handler: () => ({ text: 'x', usage: null }) }, 8_192);
    expect(silent).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('does not count') });
    expect(await prove({ pulled: {} }, 8_192)).toMatchObject({
      kind: 'unknown',
      reason: expect.stringContaining('pull'),
    });
  });
});
