import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import type { ModelRequest } from '../../src/core/providers/provider.ts';
import { createProviders, type ProvidersOptions } from '../../src/core/providers/registry.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { startFakeAnthropic } from '../support/fake-anthropic.ts';
import { startFakeOpenAiResponses } from '../support/fake-openai-responses.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { endOf, errorOf, hear, HELLO, request, user } from './dialects.ts';
import { shownText } from './scripted-provider.ts';

const steady = { bytes: (length: number) => new Uint8Array(length), fraction: () => 0 };

/** Two servers, the first reached with two keys; time moves only through announced waits. */
async function startPair(more: { readonly keys?: string[]; readonly fallbacks?: readonly string[] } = {}) {
  const first = await startFakeOpenAi();
  const second = await startFakeAnthropic();
  const clock = new VirtualClock();
  const configs: ProvidersOptions['configs'] = {
    one: { kind: 'openai', baseUrl: first.url, apiKey: more.keys ?? ['key-a', 'key-b'] },
    two: { kind: 'anthropic', baseUrl: second.url, apiKey: 'key-c' },
  };
  const providers = createProviders({ program: PROGRAM, configs, clock, random: steady });
  const { provider, model } = providers.resolve('one/m', more.fallbacks ?? ['two/n']);
  const waits: number[] = [];
  return {
    first,
    second,
    clock,
    waits,
    provider,
    ask: (change: Partial<ModelRequest> = {}) =>
      hear(
        provider,
        { ...HELLO, model, ...change },
        {
          onEvent: (event) => {
            if (event.type !== 'restart' || event.waitMs === 0) return;
            waits.push(event.waitMs);
            void clock.advance(event.waitMs);
          },
        },
      ),
    [Symbol.asyncDispose]: async () => {
      await first.close();
      await second.close();
    },
  };
}

const keysOf = (requests: readonly { headers: { authorization?: string } }[]): readonly string[] =>
  requests.map(({ headers }) => headers.authorization ?? '');

describe('a call through the whole chain', () => {
  test.each([429, 401, 402])('takes the next key at once after %d', async (status) => {
    await using pair = await startPair();
    pair.first.reply({ error: { status } }, 'fine');
    const { response } = endOf(await pair.ask());
    expect(response).not.toHaveProperty('answeredBy');
    expect(keysOf(pair.first.requests)).toEqual(['Bearer key-a', 'Bearer key-b']);
    expect(pair.waits).toEqual([]);
  });

  test('goes on with the key that works while the other cools down', async () => {
    await using pair = await startPair();
    pair.first.reply({ error: { status: 429 } }, 'fine', 'fine', 'fine');
    await pair.ask();
    await pair.ask();
    await pair.clock.advance(30_000);
    await pair.ask();
    expect(keysOf(pair.first.requests)).toEqual(['Bearer key-a', 'Bearer key-b', 'Bearer key-b', 'Bearer key-a']);
  });

  test('keeps the model for three attempts, then takes the fallback, which says its name', async () => {
    await using pair = await startPair();
    pair.first.reply({ error: { status: 500 } }, { error: { status: 500 } }, { error: { status: 500 } });
    pair.second.reply('fine');
    const { response } = endOf(await pair.ask());
    expect(response.answeredBy).toEqual({ provider: 'two', model: 'n' });
    expect(pair.waits).toEqual([1000, 2000]);
    expect(pair.second.requests[0]?.view.model).toBe('n');
  });

  test('takes the fallback first while the other cools down', async () => {
    await using pair = await startPair({ keys: ['key-a'] });
    pair.first.reply({ error: { status: 401 } }, 'fine');
    pair.second.reply('fine', 'fine');
    await pair.ask();
    await pair.ask();
    expect(pair.first.requests).toHaveLength(1);
    await pair.clock.advance(30_000);
    expect(endOf(await pair.ask()).response).not.toHaveProperty('answeredBy');
  });

  test('has all its attempts on the last model, and ends with the last error', async () => {
    await using pair = await startPair({ fallbacks: [] });
    pair.first.setHandler(() => ({ error: { status: 529 } }));
    expect(errorOf(await pair.ask())).toMatchObject({ kind: 'overloaded', status: 529 });
    expect(pair.waits).toEqual([1000, 2000, 4000, 8000]);
  });

  test('shows no text twice when a stream breaks', async () => {
    await using pair = await startPair();
    const text = 'Hello, this is a long answer.';
    pair.first.reply({ text, fault: 'reset-mid', afterEvents: 3 }, { text });
    const heard = await pair.ask();
    expect(heard.text.length).toBeGreaterThan(text.length);
    expect(shownText(heard.events)).toBe(text);
  });

  test('ends at once with a prompt that is too long', async () => {
    await using pair = await startPair();
    pair.first.reply({ error: { status: 400, code: 'context_length_exceeded' } });
    expect(errorOf(await pair.ask()).kind).toBe('context-overflow');
    expect(pair.first.requests).toHaveLength(1);
    expect(pair.second.requests).toHaveLength(0);
  });

  test('goes on with the next model when nothing explains a refusal, unless it looks for the cause', async () => {
    await using pair = await startPair();
    const refused = { error: { status: 400, message: 'Frobnication failed.' } } as const;
    pair.first.reply(refused);
    pair.second.reply('fine');
    expect((await pair.ask()).text).toBe('fine');
    pair.first.reply(refused);
    expect(errorOf(await pair.ask({ isTrial: true })).kind).toBe('bad-request');
    expect(pair.second.requests).toHaveLength(1);
  });

  test('does not think where another model began the turn', async () => {
    await using pair = await startPair({ keys: ['key-a'] });
    pair.first.reply({ error: { status: 401 } });
    pair.second.reply('fine');
    await pair.ask({ reasoning: 'high', turnModels: [{ provider: 'one', model: 'm' }] });
    expect(pair.first.requests[0]?.body).toHaveProperty('reasoning_effort');
    expect(pair.second.requests[0]?.body).not.toHaveProperty('thinking');
  });
});

describe('fallbacks', () => {
  const configs = { one: { kind: 'openai', baseUrl: 'http://127.0.0.1:1/v1' }, openai: { apiKey: 'k' } };
  const providers = createProviders({ program: PROGRAM, configs, clock: new VirtualClock() });
  const refusal = (fallbacks: readonly string[]): string => {
    try {
      providers.resolve('one/m', fallbacks);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      expect(error).toMatchObject({ code: 'config-invalid', exitCode: 78 });
      return error.message;
    }
    throw new Error('it resolved');
  };

  test('that are not known are told with the setting', () => {
    expect(refusal(['opnai/gpt-5.5'])).toMatch(/^agent\.fallbacks cannot be used: .*did you mean "openai"\?/u);
    expect(refusal(['gpt-5.5'])).toContain('provider/model');
  });

  test('that cannot be called are told with what is missing', () => {
    expect(refusal(['mistral/mistral-medium-latest'])).toContain('MISTRAL_API_KEY');
    expect(refusal(['azure-openai/gpt'])).toContain('providers.azure-openai.baseUrl');
  });

  test('that repeat the model count once, and the same references give the same provider', () => {
    const { provider } = providers.resolve('one/m', ['openai/a', 'one/m', 'openai/a']);
    expect(provider).toBe(providers.resolve('one/m', ['openai/a']).provider);
    expect(provider).not.toBe(providers.resolve('one/m').provider);
  });
});

describe('OpenAI over its Responses API', () => {
  test('is chosen by the setting', async () => {
    await using server = await startFakeOpenAiResponses({ handler: () => 'ok' });
    const configs = { openai: { apiKey: 'k', baseUrl: server.url, wire: 'responses' } } as const;
    const { provider, model } = createProviders({ program: PROGRAM, configs, clock: new VirtualClock() }).resolve(
      'openai/m',
    );
    endOf(await hear(provider, { ...request([user('hi')]), model }));
    expect(server.requests).toHaveLength(1);
  });

  test('is refused for those who do not speak it', () => {
    const configs = { anthropic: { apiKey: 'k', wire: 'responses' } } as const;
    const providers = createProviders({ program: PROGRAM, configs, clock: new VirtualClock() });
    expect(() => providers.resolve('anthropic/m')).toThrow('providers.anthropic.wire');
  });
});
