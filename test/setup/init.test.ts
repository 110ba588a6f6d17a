import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { CommandLine } from '../cli/command-line.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { startFakeAnthropic } from '../support/fake-anthropic.ts';
import { startFakeOllama } from '../support/fake-ollama.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { CTRL_C, DOWN, ENTER, Terminal } from './terminal.ts';

/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:47';

interface World extends AsyncDisposable {
  readonly terminal: Terminal;
  readonly home: string;
}

function initIn(home: string, env: Readonly<Record<string, string>>): World {
  const terminal = new Terminal(['init'], { ASSISTANT_HOME: home, OLLAMA_HOST: NOWHERE, TZ: 'Europe/Vienna', ...env });
  return { terminal, home, [Symbol.asyncDispose]: () => terminal[Symbol.asyncDispose]() };
}

function configIn(home: string): string {
  return readFileSync(join(home, 'config.json'), 'utf8');
}

const PROVIDER = 'Who provides the model?';
const KEY = 'The API key of';
const MODEL = 'Which model?';
const ZONE = 'Your time zone';
const WHERE = 'Where do you want to talk to it?';
const HOW = 'How should it run?';

describe('assistant init in a terminal', () => {
  test('with Ollama at home takes five answers', async () => {
    await using ollama = await startFakeOpenAi({ models: ['qwen3:8b', 'nomic-embed-text'], handler: () => 'Ready.' });
    await using world = initIn(temporaryFolder(), { OLLAMA_HOST: new URL(ollama.url).origin });
    const { terminal, home } = world;
    await terminal.answer(PROVIDER, ENTER);
    expect(terminal.screen).toContain('Ollama runs here, 1 model');
    await terminal.answer(MODEL, ENTER);
    await terminal.sees('ollama/qwen3:8b answered in');
    await terminal.answer(ZONE, ENTER);
    await terminal.answer(WHERE, ENTER);
    await terminal.answer(HOW, DOWN + ENTER);
    expect(await terminal.ended).toBe(0);
    expect(terminal.answers).toBe(5);
    expect(terminal.seconds).toBeLessThan(40);
    expect(ollama.requests).toHaveLength(1);
    const { config, warnings } = await loadConfig({ home, env: {} });
    expect(warnings).toEqual([]);
    expect(config.agent).toMatchObject({ model: 'ollama/qwen3:8b', timezone: 'Europe/Vienna' });
    expect(config.providers['ollama']?.baseUrl).toBe(ollama.url);
    expect(configIn(home)).toContain('"$schema": "./config.schema.json"');
    expect(configIn(home)).toContain('// Telegram: get a token from @BotFather');
    expect(existsSync(join(home, 'workspace', 'SOUL.md'))).toBe(true);
  });

  test('with a key in the environment takes five answers, and run again changes nothing', async () => {
    await using server = await startFakeAnthropic({
      apiKey: 'key-of-ann',
      models: ['claude-opus-5', 'claude-sonnet-5-5'],
      handler: () => 'Ready.',
    });
    const home = temporaryFolder();
    const env = { ANTHROPIC_API_KEY: 'key-of-ann', ANTHROPIC_BASE_URL: server.url };
    const run = async (): Promise<void> => {
      await using world = initIn(home, env);
      const { terminal } = world;
      await terminal.answer(PROVIDER, ENTER);
      expect(terminal.screen).toContain('ANTHROPIC_API_KEY is set');
      await terminal.answer(MODEL, ENTER);
      await terminal.answer(ZONE, ENTER);
      await terminal.answer(WHERE, ENTER);
      await terminal.answer(HOW, DOWN + ENTER);
      expect(await terminal.ended).toBe(0);
      expect(terminal.answers).toBe(5);
      expect(terminal.screen).not.toContain('key-of-ann');
    };
    await run();
    const before = configIn(home);
    expect(before).toContain('"model": "anthropic/claude-sonnet-5-5"');
    expect(before).not.toContain('key-of-ann');
    await using again = initIn(home, env);
    await again.terminal.answer('It is set up with anthropic/claude-sonnet-5-5. What do you want to set up?', ENTER);
    await again.terminal.answer(HOW, DOWN + ENTER);
    expect(await again.terminal.ended).toBe(0);
    expect(again.terminal.screen).toContain('nothing was changed');
    expect(server.requests).toHaveLength(1);
    expect(configIn(home)).toBe(before);
  });

  test('says that a key is wrong and takes the right one, which lies in a file of its own', async () => {
    await using server = await startFakeOpenAi({ apiKey: 'right', models: ['gpt-5.5'], handler: () => 'Ready.' });
    await using world = initIn(temporaryFolder(), { OPENAI_BASE_URL: server.url });
    const { terminal, home } = world;
    await terminal.answer(PROVIDER, ENTER);
    await terminal.answer(KEY, `wrong${ENTER}`);
    await terminal.answer(MODEL, ENTER);
    await terminal.sees('openai refused the API key (401).');
    await terminal.answer(KEY, `right${ENTER}`);
    await terminal.sees('openai/gpt-5.5 answered in');
    await terminal.answer(ZONE, `Asia/Tokyo${ENTER}`);
    await terminal.answer(WHERE, ENTER);
    await terminal.answer(HOW, DOWN + ENTER);
    expect(await terminal.ended).toBe(0);
    expect(terminal.answers).toBe(7);
    expect(terminal.screen).not.toContain('right');
    expect(configIn(home)).not.toContain('right');
    const file = join(home, 'secrets', 'OPENAI_API_KEY');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { config } = await loadConfig({ home, env: {} });
    expect(config.providers['openai']?.apiKey).toBe('right');
    expect(config.agent.timezone).toBe('Asia/Tokyo');
  });

  test('says that there is no network, tries again, and goes on without an answer when told to', async () => {
    const env = { OPENAI_BASE_URL: `${NOWHERE}/v1`, OPENAI_API_KEY: 'k' };
    await using world = initIn(temporaryFolder(), env);
    const { terminal, home } = world;
    await terminal.answer(PROVIDER, ENTER);
    await terminal.answer(MODEL, ENTER);
    await terminal.sees('refused the connection');
    await terminal.answer('What now?', ENTER);
    await terminal.sees('refused the connection');
    await terminal.answer('What now?', DOWN + DOWN + ENTER);
    await terminal.answer(ZONE, ENTER);
    await terminal.answer(WHERE, ENTER);
    await terminal.answer(HOW, DOWN + ENTER);
    expect(await terminal.ended).toBe(0);
    expect(configIn(home)).toContain('"model": "openai/gpt-5.5"');
  });

  test('without network stops with nothing written when told to', async () => {
    const env = { OPENAI_BASE_URL: `${NOWHERE}/v1`, OPENAI_API_KEY: 'k' };
    await using world = initIn(temporaryFolder(), env);
    const { terminal, home } = world;
    await terminal.answer(PROVIDER, ENTER);
    await terminal.answer(MODEL, ENTER);
    await terminal.sees('What now?');
    await terminal.choose('Stop; nothing is written');
    expect(await terminal.ended).toBe(130);
    expect(terminal.screen).toContain('Stopped. Nothing was written.');
    expect(readdirSync(home)).toEqual([]);
  });

  test('says that a model is not known and asks for another', async () => {
    await using server = await startFakeOpenAi({ models: ['gpt-5.5', 'gpt-6'] });
    server.reply({ error: { status: 404, message: 'The model does not exist', code: 'model_not_found' } }, 'Ready.');
    await using world = initIn(temporaryFolder(), { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'k' });
    const { terminal, home } = world;
    await terminal.answer(PROVIDER, ENTER);
    await terminal.answer(MODEL, ENTER);
    await terminal.sees('openai does not know the model "gpt-5.5" (404).');
    await terminal.answer(MODEL, DOWN + ENTER);
    await terminal.answer(ZONE, ENTER);
    await terminal.answer(WHERE, ENTER);
    await terminal.answer(HOW, DOWN + ENTER);
    expect(await terminal.ended).toBe(0);
    expect(configIn(home)).toContain('"model": "openai/gpt-6"');
  });

  test.each([
    ['the provider', 0],
    ['the key', 1],
    ['the model', 2],
    ['the time zone', 3],
  ])('Ctrl-C at %s writes nothing and says so', async (_step, step) => {
    await using server = await startFakeOpenAi({ models: ['gpt-5.5'], handler: () => 'Ready.' });
    await using world = initIn(temporaryFolder(), { OPENAI_BASE_URL: server.url });
    const { terminal, home } = world;
    const answers = [
      [PROVIDER, ENTER],
      [KEY, `k${ENTER}`],
      [MODEL, ENTER],
      [ZONE, ENTER],
    ] as const;
    for (const [question, keys] of answers.slice(0, step)) await terminal.answer(question, keys);
    await terminal.answer(answers[step]?.[0] ?? '', CTRL_C);
    expect(await terminal.ended).toBe(130);
    expect(terminal.screen).toContain('Stopped. Nothing was written.');
    expect(readdirSync(home)).toEqual([]);
  });

  test('Ctrl-C at the chat platform keeps the model that was saved and says so', async () => {
    await using server = await startFakeOpenAi({ models: ['gpt-5.5'], handler: () => 'Ready.' });
    await using world = initIn(temporaryFolder(), { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'k' });
    const { terminal, home } = world;
    for (const question of [PROVIDER, MODEL, ZONE]) await terminal.answer(question, ENTER);
    await terminal.answer(WHERE, CTRL_C);
    expect(await terminal.ended).toBe(130);
    expect(terminal.screen).toContain('What was written before stays');
    expect(configIn(home)).toContain('"model": "openai/gpt-5.5"');
    // Run again, only what is missing is asked for.
    await using again = initIn(home, { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'k' });
    await again.terminal.sees('It is set up with openai/gpt-5.5.');
    await again.terminal.choose('a chat platform');
    await again.terminal.answer(WHERE, ENTER);
    await again.terminal.answer(HOW, CTRL_C);
    expect(await again.terminal.ended).toBe(130);
    expect(again.terminal.screen).toContain('Stopped. What was written stays.');
    expect(server.requests).toHaveLength(1);
  });

  test('Ctrl-C while the model is asked writes nothing and says so', async () => {
    await using server = await startFakeOpenAi({
      models: ['gpt-5.5'],
      handler: () => ({ text: 'x', delayMs: 30_000 }),
    });
    await using world = initIn(temporaryFolder(), { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'k' });
    const { terminal, home } = world;
    await terminal.answer(PROVIDER, ENTER);
    await terminal.answer(MODEL, ENTER);
    await terminal.answer('for one answer', CTRL_C);
    expect(await terminal.ended).toBe(130);
    expect(terminal.screen).toContain('Stopped. Nothing was written.');
    expect(readdirSync(home)).toEqual([]);
    server.cutAll();
  });
});

describe('the window that Ollama loads', () => {
  test.each([
    [4_096, 4_096, false],
    [32_768, undefined, true],
  ])('of %i tokens is written down as %s', async (window, written, hasAllTools) => {
    await using ollama = await startFakeOllama({ window });
    const line = new CommandLine();
    line.env = { OLLAMA_HOST: ollama.url };
    expect(await line.run('init', '--yes')).toBe(0);
    expect(ollama.seen).toHaveLength(1);
    const { config, warnings } = await loadConfig({ home: line.home, env: {} });
    expect(warnings).toEqual([]);
    expect(config.agent.model).toBe('ollama/qwen3:8b');
    expect(config.models['ollama/qwen3:8b']?.contextWindow).toBe(written);
    expect(config.tools.allow.includes('*')).toBe(hasAllTools);
    expect(line.out.includes('Ollama loads only 4096 tokens of qwen3:8b')).toBe(!hasAllTools);
    const before = configIn(line.home);
    expect(await line.run('init', '--yes')).toBe(0);
    expect(configIn(line.home)).toBe(before);
  });

  test('does not change a window and tools that a person configured', async () => {
    await using ollama = await startFakeOllama();
    const line = new CommandLine();
    line.env = { OLLAMA_HOST: ollama.url };
    const mine = { models: { 'ollama/qwen3:8b': { contextWindow: 2_048 } }, tools: { allow: ['exec'] } };
    writeFileSync(join(line.home, 'config.json'), JSON.stringify(mine));
    expect(await line.run('init', '--yes', '--provider', 'ollama')).toBe(0);
    expect(line.out).toContain('models."ollama/qwen3:8b".contextWindow limits it to 2048');
    const { config } = await loadConfig({ home: line.home, env: {} });
    expect(config.models['ollama/qwen3:8b']?.contextWindow).toBe(2_048);
    expect(config.tools.allow).toEqual(['exec']);
  });
});

describe('assistant init --yes', () => {
  test('without a terminal and without --yes says what to give', async () => {
    const line = new CommandLine();
    expect(await line.run('init')).toBe(2);
    expect(line.err).toContain('init --yes --provider anthropic --key-env ANTHROPIC_API_KEY');
    expect(readdirSync(line.home)).toEqual([]);
  });

  test('is answered by flags and the environment, and keeps what a person wrote', async () => {
    await using server = await startFakeOpenAi({ apiKey: 'mine', handler: () => 'Ready.' });
    const line = new CommandLine();
    line.env = { MY_KEY: 'mine', OPENAI_BASE_URL: server.url };
    const mine = '{\n  // mine\n  "agent": { "maxIterations": 7, /* kept */ },\n}\n';
    writeFileSync(join(line.home, 'config.json'), mine);
    const argv = ['--provider', 'openai', '--model', 'gpt-6', '--key-env', 'MY_KEY', '--timezone', 'Asia/Tokyo'];
    expect(await line.run('init', '--yes', ...argv)).toBe(0);
    const text = configIn(line.home);
    expect(text).toContain('// mine');
    expect(text).toContain('/* kept */');
    expect(text).not.toContain('"mine"');
    const { config } = await loadConfig({ home: line.home, env: line.env });
    expect(config.agent).toMatchObject({ model: 'openai/gpt-6', timezone: 'Asia/Tokyo', maxIterations: 7 });
    expect(config.providers['openai']?.apiKey).toBe('mine');
    expect(await line.run('init', '--yes')).toBe(0);
    expect(configIn(line.home)).toBe(text);
    expect(server.requests).toHaveLength(2);
  });

  test.each([
    [['--provider', 'openai'], 'openai needs a key. Put it into OPENAI_API_KEY'],
    [['--provider', 'nobody'], 'The provider "nobody" is not known.'],
    [['--provider', 'openai', '--key-env', 'sk-live-1'], '--key-env takes the name of an environment variable'],
    [['--provider', 'openai', '--key-env', 'NOT_THERE'], 'NOT_THERE is not set in the environment.'],
    [['--provider', 'demo', '--timezone', 'Vienna'], '“Vienna” is no time zone.'],
    [[], 'There is no key in the environment'],
  ])('%j says what is wrong and writes nothing', async (argv, sentence) => {
    const line = new CommandLine();
    line.env = { OLLAMA_HOST: NOWHERE };
    expect(await line.run('init', '--yes', ...argv)).toBe(1);
    expect(line.err).toContain(sentence);
    expect(line.err).not.toContain('sk-live-1');
    expect(readdirSync(line.home)).toEqual([]);
  });

  test('a refused key is one sentence and exit code 1; --no-check saves it unseen', async () => {
    await using server = await startFakeOpenAi({ apiKey: 'right' });
    const line = new CommandLine();
    line.env = { OPENAI_API_KEY: 'wrong', OPENAI_BASE_URL: server.url };
    expect(await line.run('init', '--yes', '--provider', 'openai')).toBe(1);
    expect(line.err).toBe('openai refused the API key (401). Nothing was written.\n');
    expect(readdirSync(line.home)).toEqual([]);
    expect(await line.run('init', '--yes', '--provider', 'openai', '--model', 'gpt-6', '--no-check')).toBe(0);
    expect(configIn(line.home)).toContain('"model": "openai/gpt-6"');
  });
});
