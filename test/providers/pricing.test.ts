import * as prices from '@pydantic/genai-prices';
import { describe, expect, test } from 'vitest';
import { Pricing, type ModelFacts, type PricingOptions } from '../../src/core/providers/pricing.ts';
import type { ModelName } from '../../src/core/providers/provider.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { noUsage } from '../../src/core/util/token-usage.ts';
import { PROGRAM } from '../support/extensions.ts';
import { recordingLog } from '../support/recording-log.ts';

const usage = { ...noUsage, input: 1_000_000, cached: 400_000, cacheWrite: 100_000, output: 10_000 };

function pricing(options: Partial<PricingOptions> = {}): Pricing & { readonly loads: () => number } {
  let loads = 0;
  const made = new Pricing({
    presets: PROGRAM.presets,
    models: {},
    providers: {},
    log: silentLog,
    loadList: async () => {
      loads += 1;
      return prices;
    },
    ...options,
  });
  return Object.assign(made, { loads: () => loads });
}

async function costOf(made: Pricing, provider: string, model: string, counted = usage): Promise<number | null> {
  const name: ModelName = { provider, model };
  await made.prepare(name);
  return made.costOf(name, counted);
}

const facts = (price: ModelFacts['price']): ModelFacts => ({ contextWindow: null, maxOutputTokens: null, price });

describe('a configured price', () => {
  const price = { input: 2, output: 10, cacheRead: 0.5, cacheWrite: 4 };

  test('counts what was cached, what was written to the cache and the rest each at its own rate', async () => {
    const made = pricing({ models: { 'openai/mine': facts(price) } });
    expect(await costOf(made, 'openai', 'mine')).toBeCloseTo(0.5 * 2 + 0.4 * 0.5 + 0.1 * 4 + 0.01 * 10);
    expect(made.loads()).toBe(0);
  });

  test('wins over the list', async () => {
    const made = pricing({
      models: { 'openai/gpt-4.1': facts({ ...price, input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }) },
    });
    expect(await costOf(made, 'openai', 'gpt-4.1')).toBe(0);
  });
});

describe('the list of prices', () => {
  test('is loaded once, when the first price is asked', async () => {
    const made = pricing();
    expect(made.loads()).toBe(0);
    expect(made.costOf({ provider: 'openai', model: 'gpt-4.1' }, usage)).toBeNull();
    await costOf(made, 'openai', 'gpt-4.1');
    await costOf(made, 'anthropic', 'claude-opus-4-5');
    expect(made.loads()).toBe(1);
  });

  test.each([
    ['anthropic', 'claude-opus-4-5'],
    ['openai', 'gpt-4.1'],
    ['openrouter', 'anthropic/claude-sonnet-4.5'],
    ['gemini', 'gemini-2.5-pro'],
    ['moonshot', 'kimi-k2.6'],
    ['xai', 'grok-4.3'],
    ['zhipu', 'glm-4.7'],
    ['azure-openai', 'gpt-4.1'],
  ])('knows what %s takes for %s', async (provider, model) => {
    expect(await costOf(pricing(), provider, model)).toBeGreaterThan(0);
  });

  test('is cheaper for what came from the cache', async () => {
    const fresh = await costOf(pricing(), 'anthropic', 'claude-opus-4-5', { ...usage, cached: 0, cacheWrite: 0 });
    const cached = await costOf(pricing(), 'anthropic', 'claude-opus-4-5', { ...usage, cacheWrite: 0 });
    expect(cached).toBeLessThan(fresh ?? 0);
  });

  test.each([
    ['demo', 'scripted', 0],
    ['ollama', 'qwen3', null],
    ['vllm', 'gpt-4.1', null],
  ])('is not loaded for %s', async (provider, model, cost) => {
    const made = pricing();
    expect(await costOf(made, provider, model)).toBe(cost);
    expect(made.loads()).toBe(0);
  });

  test.each([
    ['openai', 'a-model-nobody-heard-of'],
    ['nobody', 'gpt-4.1'],
  ])('says nothing of %s/%s', async (provider, model) => {
    expect(await costOf(pricing(), provider, model)).toBeNull();
  });

  test('knows a provider by its address, and does not take a stranger’s for OpenAI’s', async () => {
    const providers = {
      mine: { baseUrl: 'https://api.deepseek.com/v1' },
      gate: { baseUrl: 'http://10.0.0.7/v1', kind: 'openai' },
      claude: { baseUrl: 'https://proxy.example/anthropic', kind: 'anthropic' },
    };
    expect(await costOf(pricing({ providers }), 'mine', 'deepseek-chat')).toBeGreaterThan(0);
    expect(await costOf(pricing({ providers }), 'gate', 'gpt-4.1')).toBeNull();
    expect(await costOf(pricing({ providers }), 'claude', 'claude-opus-4-5')).toBeGreaterThan(0);
  });

  test('bears counts that contradict each other', async () => {
    const odd = { ...noUsage, input: 10, cached: 500, cacheWrite: 0, output: 1 };
    expect(await costOf(pricing(), 'openai', 'gpt-4.1', odd)).toBeGreaterThan(0);
  });

  test('that cannot be loaded leaves prices unknown, with one warning', async () => {
    const log = recordingLog();
    const made = pricing({ log, loadList: async () => Promise.reject(new Error('gone')) });
    expect(await costOf(made, 'openai', 'gpt-4.1')).toBeNull();
    expect(await costOf(made, 'openai', 'gpt-4.1')).toBeNull();
    expect(log.lines).toHaveLength(1);
  });
});
