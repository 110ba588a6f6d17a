import { spawn } from 'node:child_process';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { CommandLine } from '../cli/command-line.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { builtProgram } from '../support/built-program.ts';
import { startFakeAnthropic } from '../support/fake-anthropic.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeOllama } from '../support/fake-ollama.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { waitFor } from '../support/wait.ts';
import { CTRL_D, DOWN, ENTER, Terminal } from './terminal.ts';

const program = await builtProgram();
const NOWHERE = 'http://127.0.0.1:47';
const ANN = '123456789012345678';
/** From the first question to the first answer of the assistant. */
const MOST_SECONDS = 180;

const PROVIDER = 'Who provides the model?';
const MODEL = 'Which model?';
const ZONE = 'Your time zone';
const WHERE = 'Where do you want to talk to it?';
const HOW = 'How should it run?';

/** A person at a fresh machine; `settings` only say where the servers of this test are. */
function sitDown(settings: Readonly<Record<string, unknown>>, env: Readonly<Record<string, string>> = {}): Terminal {
  const home = temporaryFolder();
  writeFileSync(join(home, 'config.json'), JSON.stringify({ gateway: { port: 0 }, ...settings }));
  return new Terminal(['init'], { ASSISTANT_HOME: home, OLLAMA_HOST: NOWHERE, TZ: 'Europe/Vienna', ...env });
}

/** Types what narrows the list down to this provider. */
async function chooseProvider(terminal: Terminal, name: string): Promise<void> {
  await terminal.sees(PROVIDER);
  await terminal.types(name);
  await terminal.answer(`Search: ${name}`, ENTER);
}

async function runHere(terminal: Terminal): Promise<void> {
  await terminal.sees(HOW);
  await terminal.choose('in this terminal, now');
  await terminal.sees('Talking with');
}

async function leave(terminal: Terminal): Promise<void> {
  await terminal.answer('you ›', CTRL_D);
  expect(await terminal.ended).toBe(0);
}

describe('from nothing to the first answer', () => {
  test('with Ollama at home, in the terminal: 5 answers', async () => {
    await using ollama = await startFakeOllama({ pulled: { 'qwen3:8b': {} }, handler: () => 'Ready.' });
    await using terminal = sitDown({}, { OLLAMA_HOST: ollama.url });
    await chooseProvider(terminal, 'ollama');
    for (const question of [MODEL, ZONE, WHERE]) await terminal.answer(question, ENTER);
    await runHere(terminal);
    expect(terminal.answers).toBe(5);
    await terminal.sees('ollama/qwen3:8b in this terminal.');
    const seen = ollama.seen.length;
    await terminal.answer('you ›', `hello${ENTER}`);
    await waitFor(() => ollama.seen.length > seen, { what: 'the question', timeoutMs: 40_000 });
    await terminal.sees('Ready.');
    expect(terminal.seconds).toBeLessThan(MOST_SECONDS);
    await leave(terminal);
  });

  test('with a key of Anthropic, on Telegram: 7 answers', async () => {
    await using model = await startFakeAnthropic({ apiKey: 'key', handler: () => 'Good morning, Ann.' });
    await using telegram = await startFakeTelegram();
    const settings = { channels: { telegram: { apiRoot: telegram.apiRoot } } };
    await using terminal = sitDown(settings, { ANTHROPIC_BASE_URL: model.url });
    await terminal.answer(PROVIDER, ENTER);
    await terminal.sees('Get a key of anthropic at https://');
    await terminal.answer('The API key of anthropic', `key${ENTER}`);
    await terminal.answer(MODEL, ENTER);
    await terminal.answer(ZONE, ENTER);
    await terminal.answer(WHERE, DOWN + ENTER);
    await terminal.answer('The bot’s token', telegram.token + ENTER);
    await terminal.sees('Ctrl-C stops');
    telegram.userSays(7, `/start ${/start=(?<code>\w+)/u.exec(terminal.screen)?.groups?.['code']}`);
    await runHere(terminal);
    expect(terminal.answers).toBe(7);
    await terminal.sees('It answers on telegram too');
    telegram.userSays(7, 'good morning');
    const texts = (): readonly string[] => telegram.sentMessages.map(({ text }) => text);
    await waitFor(() => texts().includes('Good morning, Ann.'), { what: 'the answer', timeoutMs: 40_000 });
    expect(texts()[0]).toMatch(/^This is your assistant\./u);
    expect(terminal.seconds).toBeLessThan(MOST_SECONDS);
    await leave(terminal);
  });

  test('with a key of OpenRouter, on Discord: 8 answers', async () => {
    await using model = await startFakeOpenAi({ apiKey: 'key', models: ['a/b'], handler: () => 'Good morning, Ann.' });
    await using discord = await startFakeDiscord();
    await using terminal = sitDown({
      providers: { openrouter: { baseUrl: model.url } },
      channels: { discord: { apiBase: discord.apiBase } },
    });
    await chooseProvider(terminal, 'openrouter');
    await terminal.answer('The API key of openrouter', `key${ENTER}`);
    await terminal.answer(MODEL, ENTER);
    await terminal.answer(ZONE, ENTER);
    await terminal.answer(WHERE, DOWN + DOWN + ENTER);
    await terminal.answer('The bot’s token', discord.token + ENTER);
    await terminal.answer(`Are you ann (${ANN})?`, ENTER);
    await terminal.sees('Waiting until the bot is in your server');
    discord.addChannel();
    await runHere(terminal);
    expect(terminal.answers).toBe(8);
    const ann = { id: ANN, username: 'ann' };
    const direct = discord.direct(ann);
    await waitFor(() => discord.gateway.isConnected, { what: 'the connection', timeoutMs: 40_000 });
    discord.sends(direct, ann, 'good morning');
    const texts = (): readonly string[] => discord.sent(direct).map(({ content }) => content);
    await waitFor(() => texts().includes('Good morning, Ann.'), { what: 'the answer', timeoutMs: 40_000 });
    expect(terminal.seconds).toBeLessThan(MOST_SECONDS);
    await leave(terminal);
  });

  test('for a team in Slack, with a key of OpenAI: 8 answers', async () => {
    await using model = await startFakeOpenAi({ apiKey: 'key', models: ['gpt-5.5'], handler: () => 'Good morning.' });
    await using slack = await startFakeSlack();
    const settings = { channels: { slack: { apiUrl: slack.config.apiUrl } } };
    await using terminal = sitDown(settings, { OPENAI_BASE_URL: model.url });
    await chooseProvider(terminal, 'openai');
    await terminal.answer('The API key of openai', `key${ENTER}`);
    await terminal.answer(MODEL, ENTER);
    await terminal.answer(ZONE, ENTER);
    await terminal.answer(WHERE, DOWN + DOWN + DOWN + ENTER);
    await terminal.sees('socket_mode_enabled: true');
    await terminal.answer('The bot token', slack.config.botToken + ENTER);
    await terminal.answer('The app-level token', slack.config.appToken + ENTER);
    await terminal.sees('Waiting for 10 minutes');
    slack.sends('U0ANN', 'D0ANN', /send it (?<code>\w{8})\./u.exec(terminal.screen)?.groups?.['code'] ?? '');
    await runHere(terminal);
    expect(terminal.answers).toBe(8);
    slack.sends('U0ANN', 'D0ANN', 'good morning');
    const texts = (): readonly string[] => slack.sentPosts.map(({ text }) => text);
    await waitFor(() => texts().includes('Good morning.'), { what: 'the answer', timeoutMs: 40_000 });
    expect(terminal.seconds).toBeLessThan(MOST_SECONDS);
    await leave(terminal);
  });

  test('in Docker with nothing but the environment: no answer, with init --yes and without', async () => {
    await using model = await startFakeAnthropic({ apiKey: 'key', handler: () => 'Good morning, Ann.' });
    await using telegram = await startFakeTelegram();
    const env = {
      ANTHROPIC_API_KEY: 'key',
      ANTHROPIC_BASE_URL: model.url,
      TELEGRAM_BOT_TOKEN: telegram.token,
      TELEGRAM_ALLOW_FROM: '7',
      ASSISTANT_CHANNELS__TELEGRAM__API_ROOT: telegram.apiRoot,
    };
    const home = join(temporaryFolder(), 'home');
    for (const times of [1, 2]) {
      const begun = performance.now();
      const gateway = spawn(process.execPath, [program.launcher, 'gateway', '--port', '0'], {
        env: program.environment({ HOME: home, ASSISTANT_HOME: home, ...env }),
        stdio: 'ignore',
      });
      const ended = new Promise((resolve) => gateway.once('exit', resolve));
      telegram.userSays(7, `good morning ${times}`);
      const answers = (): number => telegram.sentMessages.filter(({ text }) => text === 'Good morning, Ann.').length;
      await waitFor(() => answers() === times, { what: 'the answer', timeoutMs: 40_000 });
      expect((performance.now() - begun) / 1000).toBeLessThan(MOST_SECONDS);
      gateway.kill('SIGTERM');
      expect(await ended).toBe(0);
      if (times === 2) break;
      const line = new CommandLine();
      line.env = { ...env, ASSISTANT_HOME: home };
      expect(await line.run('init', '--yes')).toBe(0);
      const { config } = await loadConfig({ home, env });
      expect(config.agent.model).toMatch(/^anthropic\//u);
      expect(readdirSync(home)).not.toContain('secrets');
    }
  });
});
