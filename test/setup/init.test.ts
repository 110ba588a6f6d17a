import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { CommandLine } from '../cli/command-line.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { describeWith } from '../support/test-with.ts';
import { startFakeAnthropic } from '../support/fake-anthropic.ts';
import { startFakeOllama, type FakeOllamaOptions } from '../support/fake-ollama.ts';
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

describeWith('python3')('assistant init in a terminal', () => {
  test('with Ollama at home takes five answers', async () => {
    await using ollama = await startFakeOllama({
      pulled: { 'qwen3:8b': {}, 'nomic-embed-text': {} },
      handler: () => 'Ready.',
    });
    await using world = initIn(temporaryFolder(), { OLLAMA_HOST: ollama.url });
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
    // One answer, and three prompts that prove the window.
    expect(ollama.requests).toHaveLength(4);
    const { config, findings } = await loadConfig({ program: PROGRAM, home, env: {} });
    expect(findings).toEqual([]);
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
    expect(terminal.screen.replaceAll(/\s*│?\s+/gu, '')).toContain('https://platform.openai.com/api-keys');
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
    const { config } = await loadConfig({ program: PROGRAM, home, env: {} });
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
  const run = async (options: FakeOllamaOptions, mine?: object) => {
    await using ollama = await startFakeOllama({ pulled: { 'qwen3:8b': {} }, handler: () => 'Ready.', ...options });
    const line = new CommandLine();
    line.env = { OLLAMA_HOST: ollama.url };
    if (mine !== undefined) writeFileSync(join(line.home, 'config.json'), JSON.stringify(mine));
    expect(await line.run('init', '--yes', '--provider', 'ollama')).toBe(0);
    const { config, findings } = await loadConfig({ program: PROGRAM, home: line.home, env: {} });
    expect(findings).toEqual([]);
    expect(config.agent.model).toBe('ollama/qwen3:8b');
    return { line, config, window: config.models['ollama/qwen3:8b']?.contextWindow, loads: ollama.loads };
  };

  test('is proven by a long prompt, and nothing is written where it is the usual one', async () => {
    const { line, window, loads } = await run({});
    expect(line.out).toMatch(
      /Ollama loads a window of 32,768 tokens for qwen3:8b: it read a prompt of 31,\d{3} tokens to the end\./u,
    );
    expect(window).toBeUndefined();
    expect(loads).toBe(1);
  });

  test('is raised where the model file sets less than the model supports', async () => {
    const { line, window } = await run({ pulled: { 'qwen3:8b': { numCtx: 4_096 } } });
    expect(line.out).toMatch(
      /Ollama loaded only 4,096 tokens of qwen3:8b; it loads 32,768 now, as a prompt of 31,\d{3} tokens proved \(models\."ollama\/qwen3:8b"\.contextWindow\)\./u,
    );
    expect(window).toBe(32_768);
  });

  test('is no more than the model supports', async () => {
    const { line, window } = await run({ pulled: { 'qwen3:8b': { supported: 8_192 } } });
    expect(line.out).toContain('Ollama loads a window of 8,192 tokens for qwen3:8b: it read a prompt of 7,');
    expect(window).toBeUndefined();
  });

  test('is written down where prompts are cut whatever is asked for, with the step that ends it', async () => {
    const { line, window } = await run({ ignores: 'options' });
    expect(line.out).toContain('Ollama loads only 4,096 tokens of qwen3:8b and drops the rest of a longer prompt');
    expect(line.out).toContain('providers.ollama.baseUrl');
    expect(window).toBe(4_096);
  });

  test('stays as a person configured it', async () => {
    const mine = { models: { 'ollama/qwen3:8b': { contextWindow: 2_048 } }, tools: { allow: ['exec'] } };
    const { line, config, window } = await run({}, mine);
    expect(line.out).toContain(
      'Ollama loads a window of 2,048 tokens for qwen3:8b, as models."ollama/qwen3:8b".contextWindow',
    );
    expect(window).toBe(2_048);
    expect(config.tools.allow).toEqual(['exec']);
  });

  test('a model that cannot use tools is taken, with a sentence that says what that means', async () => {
    const { line } = await run({ pulled: { 'qwen3:8b': { capabilities: ['completion'] } } });
    expect(line.out).toContain('The model qwen3:8b cannot use tools');
  });

  test('a model that was not pulled names the command that gets it', async () => {
    await using ollama = await startFakeOllama({ pulled: {} });
    const line = new CommandLine();
    line.env = { OLLAMA_HOST: ollama.url };
    expect(await line.run('init', '--yes', '--provider', 'ollama', '--model', 'qwen3:8b')).not.toBe(0);
    expect(line.err).toContain('Get it with: ollama pull qwen3:8b');
  });

  test('a model that does not fit into the memory names the setting', async () => {
    await using ollama = await startFakeOllama({ pulled: { 'qwen3:8b': {} }, mostWindow: 8_192 });
    const line = new CommandLine();
    line.env = { OLLAMA_HOST: ollama.url };
    expect(await line.run('init', '--yes', '--provider', 'ollama')).not.toBe(0);
    expect(line.err).toContain('too little memory for the model "qwen3:8b"');
    expect(line.err).toContain('Set models."ollama/qwen3:8b".contextWindow to fewer tokens');
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
    const { config } = await loadConfig({ program: PROGRAM, home: line.home, env: line.env });
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
    [[], 'I found no API key in the environment'],
  ])('%j says what is wrong and writes nothing', async (argv, sentence) => {
    const line = new CommandLine();
    line.env = { OLLAMA_HOST: NOWHERE };
    expect(await line.run('init', '--yes', ...argv)).toBe(1);
    expect(line.err).toContain(sentence);
    expect(line.err).not.toContain('sk-live-1');
    expect(readdirSync(line.home)).toEqual([]);
  });

  test('a key that the server of an address refuses is named as such', async () => {
    await using server = await startFakeOpenAi({ apiKey: 'right', hasPublicList: false });
    const line = new CommandLine();
    line.env = { MY_KEY: 'wrong', OLLAMA_HOST: NOWHERE };
    const argv = ['--provider', 'local', '--base-url', server.url];
    expect(await line.run('init', '--yes', ...argv, '--key-env', 'MY_KEY')).toBe(1);
    expect(line.err).toBe('local refused the API key (401). Nothing was written.\n');
    line.err = '';
    expect(await line.run('init', '--yes', ...argv)).toBe(1);
    expect(line.err).toBe('local needs an API key. Name its variable with --key-env. Nothing was written.\n');
  });

  test('a server that can’t be reached is named as such', async () => {
    const line = new CommandLine();
    line.env = { OLLAMA_HOST: NOWHERE };
    expect(await line.run('init', '--yes', '--provider', 'local', '--base-url', NOWHERE)).toBe(1);
    expect(line.err).toBe(
      'local does not say which models it has: it cannot be reached (ECONNREFUSED). Give --model NAME. Nothing was written.\n',
    );
  });

  test('an address is enough: the server there becomes the provider local, with its first model', async () => {
    await using server = await startFakeOpenAi({ models: ['qwen3'], handler: () => 'Ready.' });
    const line = new CommandLine();
    line.env = { OLLAMA_HOST: NOWHERE };
    expect(await line.run('init', '--yes', '--base-url', server.url)).toBe(0);
    const { config } = await loadConfig({ program: PROGRAM, home: line.home, env: {} });
    expect(config.agent.model).toBe('local/qwen3');
    expect(config.providers['local']).toMatchObject({ kind: 'openai', baseUrl: server.url });
  });

  test('a server of one’s own gets the whole prompt with all tools, and what it says to that is told', async () => {
    await using server = await startFakeOpenAi({
      models: ['qwen3'],
      handler: ({ body }) =>
        JSON.stringify(body).length < 10_000
          ? 'Ready.'
          : { error: { status: 402, message: 'The prompt is too dear.' } },
    });
    const line = new CommandLine();
    line.app = () => import('../../src/app.ts');
    line.env = { OLLAMA_HOST: NOWHERE };
    expect(await line.run('init', '--yes', '--base-url', server.url)).toBe(0);
    expect(server.requests.at(-1)?.view.tools.length).toBeGreaterThan(15);
    expect(line.out).toContain('Sending local/qwen3 the whole prompt with its tools');
    expect(line.out).toContain('has no credit left');
  });

  test.each([
    [2_048, true, /reads only 2,048 tokens at once, too few for any use: .*llama-server -c 32768/u],
    [8_192, true, /reads only 8,192 tokens at once, so it gets fewer tools and forgets soon/u],
    [32_768, false, /can't use tools here/u],
  ])('of llama.cpp with a window of %i (tools: %s) it says what is missing', async (n_ctx, tools, sentence) => {
    const props = { default_generation_settings: { n_ctx }, chat_template_caps: { supports_tools: tools } };
    await using server = await startFakeOpenAi({
      models: ['qwen3'],
      handler: () => 'Ready.',
      pages: { '/props': props },
    });
    const line = new CommandLine();
    line.app = () => import('../../src/app.ts');
    line.env = { OLLAMA_HOST: NOWHERE };
    expect(await line.run('init', '--yes', '--base-url', server.url)).toBe(0);
    expect(line.out + line.err).toMatch(sentence);
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
