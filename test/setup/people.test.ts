import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { CommandLine } from '../cli/command-line.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { testWith } from '../support/test-with.ts';
import { builtProgram } from '../support/built-program.ts';
import { startFakeAnthropic } from '../support/fake-anthropic.ts';
import { startFakeOllama } from '../support/fake-ollama.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { waitFor } from '../support/wait.ts';
import { chooseProvider, leave, MODEL, MOST_SECONDS, PROVIDER, runHere, sitDown, WHERE, ZONE } from './people-world.ts';
import { DOWN, ENTER } from './terminal.ts';

const program = await builtProgram();

// The long run has Discord and Slack too.
describe('from nothing to the first answer', () => {
  testWith('python3')('with Ollama at home, in the terminal: 5 answers', async () => {
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

  testWith('python3')('with a key of Anthropic, on Telegram: 7 answers', async () => {
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
      const { config } = await loadConfig({ program: PROGRAM, home, env });
      expect(config.agent.model).toMatch(/^anthropic\//u);
      expect(readdirSync(home)).not.toContain('secrets');
    }
  });
});
