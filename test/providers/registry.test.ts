import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import type { ProviderConfig } from '../../src/core/providers/open-provider.ts';
import { createProviders } from '../../src/core/providers/registry.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const clock = new VirtualClock();

function resolve(ref: string, configs: Readonly<Record<string, ProviderConfig>> = {}): string {
  const { provider, providerName, model } = createProviders({ program: PROGRAM, configs, clock }).resolve(ref);
  expect(provider.name).toBe(providerName);
  return `${providerName} | ${model}`;
}

function refusal(ref: string, configs: Readonly<Record<string, ProviderConfig>> = {}): string {
  try {
    createProviders({ program: PROGRAM, configs, clock }).resolve(ref);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    expect(error).toMatchObject({ code: 'config-invalid', exitCode: 78 });
    return error.message;
  }
  throw new Error('it resolved');
}

describe('"auto"', () => {
  test.each<[string, Readonly<Record<string, ProviderConfig>>, string]>([
    ['without any key is the demo', {}, 'demo | scripted'],
    ['with an empty key is the demo', { openai: { apiKey: '' }, anthropic: { apiKey: [] } }, 'demo | scripted'],
    ['takes Anthropic first', { openai: { apiKey: 'a' }, anthropic: { apiKey: 'b' } }, 'anthropic | claude-sonnet-5-5'],
    ['takes OpenAI when it has the only key', { openai: { apiKey: ['a', 'b'] }, anthropic: {} }, 'openai | gpt-5.5'],
    ['takes others after them', { work: { kind: 'openai', apiKey: 'a' } }, 'work | gpt-5.5'],
    [
      "knows no default model of a server of one's own",
      { local: { kind: 'openai', apiKey: 'a', baseUrl: 'http://127.0.0.1:1/v1' } },
      'demo | scripted',
    ],
  ])('%s', (_title, configs, expected) => {
    expect(resolve('auto', configs)).toBe(expected);
  });
});

describe('a reference', () => {
  test('may name a server without a key', () => {
    expect(resolve('local/llama3', { local: { baseUrl: 'http://127.0.0.1:11434/v1' } })).toBe('local | llama3');
  });

  test("keeps further slashes in the model's name", () => {
    const configs = { openrouter: { kind: 'openai', baseUrl: 'https://openrouter.example/v1', apiKey: 'k' } };
    expect(resolve('openrouter/meta/llama-4', configs)).toBe('openrouter | meta/llama-4');
  });

  test('gives the same provider each time', () => {
    const providers = createProviders({ program: PROGRAM, configs: { openai: { apiKey: 'k' } }, clock });
    expect(providers.resolve('openai/a').provider).toBe(providers.resolve('openai/a', []).provider);
  });

  test('to a provider without a key names the variable', () => {
    expect(refusal('anthropic/claude-sonnet-5-5')).toContain(
      'Set ANTHROPIC_API_KEY in the environment or providers.anthropic.apiKey',
    );
    // The variable fills the entry of its own name and no other.
    const work = refusal('work/gpt-5.5', { work: { kind: 'openai' } });
    expect(work).toContain('Set providers.work.apiKey in the configuration.');
    expect(work).not.toContain('OPENAI_API_KEY');
  });

  test('to an unknown provider names the nearest', () => {
    const message = refusal('antropic/claude-sonnet-5-5');
    expect(message).toContain('did you mean "anthropic"?');
    expect(message).toContain('Known: anthropic, openai, openrouter');
  });

  test('without a provider says what to write', () => {
    expect(refusal('claude-sonnet-5')).toContain('"anthropic/claude-sonnet-5-5"');
    expect(refusal('gpt-5')).toContain('"openai/gpt-5.5"');
    expect(refusal('openai')).toContain('"openai/gpt-5.5"');
    expect(refusal('openai/')).toContain('"openai/gpt-5.5"');
    expect(refusal('')).toContain('provider/model');
  });

  test('to an unknown kind names the known ones', () => {
    expect(refusal('x/y', { x: { kind: 'opnai' } })).toContain('did you mean "openai"?');
    expect(refusal('x/y', { x: { apiKey: 'k' } })).toContain('providers.x.kind');
  });

  test('to an address that is none says so', () => {
    expect(refusal('x/y', { x: { baseUrl: 'localhost:8080' } })).toContain('must be an http or https address');
  });
});
