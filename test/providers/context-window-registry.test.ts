import { expect, test } from 'vitest';
import { ContextWindows, type ContextWindowsOptions } from '../../src/core/providers/context-window-registry.ts';
import { LearnedFacts } from '../../src/core/providers/learned.ts';
import { Pricing, type PricingOptions } from '../../src/core/providers/pricing.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { PROGRAM } from '../support/extensions.ts';
import { recordingLog } from '../support/recording-log.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

function windows(
  options: Partial<ContextWindowsOptions> & { readonly models?: PricingOptions['models'] } = {},
): ContextWindows {
  const pricing = new Pricing({
    presets: PROGRAM.presets,
    models: options.models ?? {},
    providers: {},
    log: silentLog,
  });
  return new ContextWindows({
    pricing,
    learned: new LearnedFacts({ clock: new VirtualClock() }),
    most: null,
    ask: async () => null,
    clock: new VirtualClock(),
    log: silentLog,
    ...options,
  });
}

const facts = (contextWindow: number | null): PricingOptions['models'][string] => ({
  contextWindow,
  maxOutputTokens: 700,
  price: null,
});

test.each([
  ['anthropic', 'claude-opus-4-5', 200_000],
  ['openai', 'gpt-5', 400_000],
  ['gemini', 'gemini-2.5-pro', 1_048_576],
  ['mistral', 'mistral-medium-latest', 131_072],
])('the window of %s/%s is known: %i', async (provider, model, tokens) => {
  expect(await windows().of({ provider, model })).toBe(tokens);
});

test('an unknown one is taken for 65,536, with one warning that names the key', async () => {
  const log = recordingLog();
  const all = windows({ log });
  const name = { provider: 'mine', model: 'nothing/known' };
  expect([await all.of(name), await all.of(name)]).toEqual([65_536, 65_536]);
  expect(log.lines.map(({ level }) => level)).toEqual(['warn']);
  expect(log.lines[0]?.message).toContain('models."mine/nothing/known".contextWindow');
});

test('the list is not waited for when little is needed', async () => {
  const log = recordingLog();
  const all = windows({ log });
  const name = { provider: 'openai', model: 'gpt-5' };
  expect(await all.of(name, 12_000)).toBe(65_536);
  expect(await all.of(name)).toBe(400_000);
  expect(await all.of(name, 12_000)).toBe(400_000);
  expect(log.lines).toEqual([]);
});

test('the configured one wins, and the smaller one of both keys', async () => {
  const name = { provider: 'anthropic', model: 'claude-opus-4-5' };
  const models = { 'anthropic/claude-opus-4-5': facts(50_000) };
  expect(await windows({ models }).of(name)).toBe(50_000);
  expect(await windows({ models, most: 20_000 }).of(name)).toBe(20_000);
  expect(await windows({ models, most: 80_000 }).of(name)).toBe(50_000);
  expect(await windows({ most: 80_000 }).of(name)).toBe(80_000);
  expect(windows({ models }).mostOutput(name)).toBe(700);
  expect(windows().mostOutput(name)).toBeNull();
});

test('no more is taken than a local server reads, whatever is configured', async () => {
  const name = { provider: 'ollama', model: 'qwen3' };
  const models = { 'ollama/qwen3': facts(100_000) };
  const all = windows({ models, ask: async () => 40_960 });
  expect([await all.of(name), await all.of(name)]).toEqual([40_960, 40_960]);
  expect(await windows({ models, ask: async () => null }).of(name)).toBe(100_000);
});

test('a local server is asked for its own, and again after five minutes', async () => {
  const clock = new VirtualClock();
  const answers = [4096, 32_768];
  const all = windows({ clock, ask: async () => answers.shift() ?? null });
  const name = { provider: 'ollama', model: 'qwen3' };
  expect([await all.of(name), await all.of(name)]).toEqual([4096, 4096]);
  await clock.advance(301_000);
  expect(await all.of(name)).toBe(32_768);
});
