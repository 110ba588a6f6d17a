import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { withEnvironment } from '../../src/core/config/environment-keys.ts';
import { isLocalAddress } from '../../src/core/providers/endpoint.ts';
import { toOpenAiRequest } from '../../src/extensions/openai/chat-request.ts';
import { COMPATIBLE } from '../../src/extensions/openai/chat.ts';
import { createProviders } from '../../src/core/providers/registry.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { assistant, call, endOf, hear, HELLO, request, result, user } from './dialects.ts';

const ROWS = [...PROGRAM.presets];

describe.each(ROWS)('%s', (name, preset) => {
  test('has an address that can be called', () => {
    if (preset.baseUrl === null) return;
    const { protocol } = new URL(preset.baseUrl);
    expect(protocol).toBe(isLocalAddress(preset.baseUrl) ? 'http:' : 'https:');
    expect(preset.baseUrl).not.toMatch(/\/$/u);
  });

  test('is enabled by its usual environment variable alone', () => {
    if (preset.keyVariable === null) return;
    const { settings } = withEnvironment(PROGRAM, {}, { [preset.keyVariable]: 'the-key' });
    expect(settings).toEqual({ providers: { [name]: { apiKey: 'the-key' } } });
  });

  test('resolves with a key, or without one where none is needed', () => {
    const config = {
      ...(preset.keyVariable === null ? {} : { apiKey: 'k' }),
      ...(preset.needsBaseUrl === true ? { baseUrl: 'https://r.openai.azure.com/openai/v1' } : {}),
    };
    const providers = createProviders({ program: PROGRAM, configs: { [name]: config }, clock: new VirtualClock() });
    expect(providers.resolve(`${name}/some/model`)).toMatchObject({ providerName: name, model: 'some/model' });
  });

  test('is what "auto" takes when it has the only key', () => {
    if (preset.keyVariable === null || preset.defaultModel === null) return;
    const providers = createProviders({
      program: PROGRAM,
      configs: { [name]: { apiKey: 'k' } },
      clock: new VirtualClock(),
    });
    expect(providers.resolve('auto')).toMatchObject({ providerName: name, model: preset.defaultModel });
  });
});

describe.each(ROWS.filter(([, { api }]) => api === 'openai'))('%s speaks', (name, { quirks = {} }) => {
  test('through the real SDK, a round with a tool and thoughts', async () => {
    const extraKeys = ['reasoning', 'thinking', 'enable_thinking', 'reasoning_split'];
    await using server = await startFakeOpenAi({ handler: () => 'ok', extraKeys });
    const configs = { [name]: { apiKey: 'k', baseUrl: server.url } };
    const { provider, model } = createProviders({ program: PROGRAM, configs, clock: systemClock }).resolve(`${name}/m`);
    const transcript = [user('go'), assistant(call('t.1', 'call_very_long_id')), result('t.1'), user('and this')];
    endOf(await hear(provider, { ...request(transcript), model, reasoning: 'high' }));
    const [seen] = server.requests;
    expect(seen?.body).toHaveProperty(quirks.maxTokens ?? (name === 'openai' ? 'max_tokens' : COMPATIBLE.maxTokens));
    expect(seen?.body['stream_options']).toEqual(quirks.streamUsage === false ? undefined : { include_usage: true });
  });
});

describe('quirks', () => {
  const bodyOf = (name: string, more = {}) => {
    const quirks = { ...COMPATIBLE, ...PROGRAM.presets.get(name)?.quirks };
    return toOpenAiRequest({ ...HELLO, ...more }, { provider: name, quirks });
  };

  test.each([
    ['groq', { reasoning_effort: 'high' }],
    ['openrouter', { reasoning: { effort: 'high' } }],
    ['deepseek', { thinking: { type: 'enabled' } }],
    ['dashscope', { enable_thinking: true }],
    ['minimax', { reasoning_split: true }],
  ])('%s is asked to think in its own words', (name, expected) => {
    expect(bodyOf(name, { reasoning: 'high' })).toMatchObject(expected);
  });

  test.each([
    ['deepseek', { thinking: { type: 'disabled' } }],
    ['siliconflow', { enable_thinking: false }],
  ])('%s is told not to think, which it does unasked', (name, expected) => {
    expect(bodyOf(name)).toMatchObject(expected);
  });

  test('mistral is asked nothing that it does not know', () => {
    expect(Object.keys(bodyOf('mistral', { reasoning: 'high' })).sort()).toEqual([
      'max_tokens',
      'messages',
      'model',
      'stream',
      'tools',
    ]);
  });

  test.each(['zhipu', 'minimax'])('%s is not told of a tool choice that it does not know', (name) => {
    expect(bodyOf(name, { toolChoice: 'none' })).not.toHaveProperty('tool_choice');
    expect(bodyOf('groq', { toolChoice: 'none' })).toMatchObject({ tool_choice: 'none' });
  });

  test('azure takes the system prompt from a developer', () => {
    expect(bodyOf('azure-openai').messages[0]).toMatchObject({ role: 'developer' });
  });

  test("mistral's ids of calls stay as they are when they are legal", () => {
    const messages = [user('go'), assistant(call('t.1', 'D681PevKs')), result('t.1')];
    expect(JSON.stringify(bodyOf('mistral', { messages }))).toContain('"D681PevKs"');
  });
});

test.each([
  ['http://127.0.0.1:11434/v1', true],
  ['http://localhost:1234/v1', true],
  ['http://[::1]:8000/v1', true],
  ['http://192.168.1.20:8000/v1', true],
  ['http://172.20.0.3/v1', true],
  ['http://10.1.2.3/v1', true],
  ['http://ollama:11434/v1', true],
  ['http://nas.local/v1', true],
  ['http://[fd00::1]/v1', true],
  ['https://api.openai.com/v1', false],
  ['http://172.32.0.1/v1', false],
  ['http://8.8.8.8/v1', false],
  ['https://10.example.com/v1', false],
  ['http://[2001:db8::1]/v1', false],
  [null, false],
])('%s is in this network: %s', (address, expected) => {
  expect(isLocalAddress(address)).toBe(expected);
});
