import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { CommandLine } from '../cli/command-line.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { testWith } from '../support/test-with.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { CTRL_C, DOWN, ENTER, Terminal, UP } from './terminal.ts';

const MODEL_ANSWERS = [
  ['Who provides the model?', ENTER],
  ['Which model?', ENTER],
  ['Your time zone', ENTER],
  ['Where do you want to talk to it?', DOWN + ENTER],
] as const;
const TOKEN = 'The bot’s token';

function homeFor(apiRoot: string): string {
  const home = temporaryFolder();
  writeFileSync(join(home, 'config.json'), JSON.stringify({ channels: { telegram: { apiRoot } } }));
  return home;
}

function codeOn(screen: string): string {
  return /start=(?<code>\w+)/u.exec(screen)?.groups?.['code'] ?? '';
}

describe('assistant init with Telegram', () => {
  testWith('python3')(
    'takes seven answers with a mistyped token, makes the sender of the code the owner, and writes to them',
    async () => {
      await using model = await startFakeOpenAi({ models: ['gpt-5.5'], handler: () => 'Ready.' });
      await using telegram = await startFakeTelegram();
      const home = homeFor(telegram.apiRoot);
      const env = { ASSISTANT_HOME: home, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: model.url };
      await using terminal = new Terminal(['init'], env);
      telegram.userSays(66, 'hello, a stranger');
      for (const [question, keys] of MODEL_ANSWERS) await terminal.answer(question, keys);
      await terminal.sees('@BotFather');
      await terminal.answer(TOKEN, `123456:wrong${ENTER}`);
      await terminal.sees('Telegram refused this token');
      await terminal.answer(TOKEN, telegram.token + ENTER);
      await terminal.sees('Open https://t.me/test_bot?start=');
      await terminal.sees('Ctrl-C stops');
      const code = codeOn(terminal.screen);
      expect(code).toMatch(/^[A-Z2-9]{8}$/u);
      telegram.userSays(66, '/start WRONGONE');
      telegram.userSays(-5, code, {
        chat: { id: -5, type: 'group', title: 'g' },
        from: { id: 66, first_name: 'Eve', is_bot: false },
      });
      telegram.userSays(7, `/start ${code}`);
      await terminal.answer('How should it run?', UP + ENTER);
      expect(await terminal.ended).toBe(0);
      expect(terminal.answers).toBe(7);
      expect(terminal.screen).not.toContain(telegram.token);
      const { config } = await loadConfig({ program: PROGRAM, home, env: {} });
      expect(config.channels['telegram']).toMatchObject({ token: telegram.token, owners: ['7'], allowFrom: ['7'] });
      expect(readFileSync(join(home, 'config.json'), 'utf8')).not.toContain(telegram.token);
      expect(telegram.sentMessages.map(({ chatId, text }) => [chatId, text])).toEqual([
        [7, 'This is your assistant. You are my owner here. I answer as soon as I am running.'],
      ]);
      expect(telegram.unconfirmed).toEqual([]);
    },
  );

  testWith('python3')('Ctrl-C while it waits for the code keeps the model and writes nothing of Telegram', async () => {
    await using model = await startFakeOpenAi({ models: ['gpt-5.5'], handler: () => 'Ready.' });
    await using telegram = await startFakeTelegram();
    const home = homeFor(telegram.apiRoot);
    const env = { ASSISTANT_HOME: home, OPENAI_API_KEY: 'k', OPENAI_BASE_URL: model.url };
    await using terminal = new Terminal(['init'], env);
    for (const [question, keys] of MODEL_ANSWERS) await terminal.answer(question, keys);
    await terminal.answer(TOKEN, telegram.token + ENTER);
    await terminal.answer('Ctrl-C stops', CTRL_C);
    expect(await terminal.ended).toBe(130);
    expect(terminal.screen).toContain('of the chat platform nothing was written');
    const { config } = await loadConfig({ program: PROGRAM, home, env: {} });
    expect(config.agent.model).toBe('openai/gpt-5.5');
    expect(config.channels['telegram']?.token).toBeUndefined();
    expect(existsSync(join(home, 'secrets'))).toBe(false);
  });

  testWith('python3')('says that there is no network, and leaves the platform out when told to', async () => {
    const home = homeFor('http://127.0.0.1:47');
    writeFileSync(
      join(home, 'config.json'),
      readFileSync(join(home, 'config.json'), 'utf8').replace('{', '{"agent":{"model":"openai/gpt-5.5"},'),
    );
    const before = readFileSync(join(home, 'config.json'), 'utf8');
    await using terminal = new Terminal(['init'], { ASSISTANT_HOME: home, OPENAI_API_KEY: 'k' });
    await terminal.sees('What do you want to set up?');
    await terminal.choose('a chat platform');
    await terminal.answer('Where do you want to talk to it?', DOWN + ENTER);
    await terminal.answer(TOKEN, `123456:right${ENTER}`);
    await terminal.sees('Check the network.');
    await terminal.answer('What now?', ENTER);
    await terminal.sees('Check the network.');
    await terminal.sees('What now?');
    await terminal.choose('Leave it out');
    await terminal.answer('How should it run?', DOWN + ENTER);
    expect(await terminal.ended).toBe(0);
    expect(readFileSync(join(home, 'config.json'), 'utf8')).toBe(before);
    expect(existsSync(join(home, 'secrets'))).toBe(false);
  });

  test('switches on a platform that was off', async () => {
    await using telegram = await startFakeTelegram();
    const line = new CommandLine();
    const settings = { channels: { telegram: { apiRoot: telegram.apiRoot, enabled: false } } };
    writeFileSync(join(line.home, 'config.json'), JSON.stringify(settings));
    line.env = { BOT: telegram.token };
    expect(await line.run('status')).toBe(0);
    expect(line.out).toContain('channels  telegram (switched off)\n');
    const argv = ['--yes', '--provider', 'demo', '--telegram-token-env', 'BOT', '--telegram-owner', '7'];
    expect(await line.run('init', ...argv)).toBe(0);
    const { config } = await loadConfig({ program: PROGRAM, home: line.home, env: line.env });
    expect(config.channels['telegram']?.enabled).toBe(true);
  });

  test('by flags needs no terminal', async () => {
    await using telegram = await startFakeTelegram();
    const line = new CommandLine();
    const settings = { channels: { telegram: { apiRoot: telegram.apiRoot, allowFrom: ['5'] } } };
    writeFileSync(join(line.home, 'config.json'), JSON.stringify(settings));
    line.env = { BOT: telegram.token };
    const argv = ['--yes', '--provider', 'demo', '--telegram-token-env', 'BOT'];
    expect(await line.run('init', ...argv, '--telegram-owner', '@ann')).toBe(1);
    expect(line.err).toContain('An id on Telegram is a number, never a name.');
    expect(await line.run('init', ...argv, '--telegram-owner', '7')).toBe(0);
    const { config } = await loadConfig({ program: PROGRAM, home: line.home, env: line.env });
    expect(config.channels['telegram']).toMatchObject({
      token: telegram.token,
      owners: ['5', '7'],
      allowFrom: ['5', '7'],
    });
    expect(telegram.sentMessages.map(({ chatId }) => chatId)).toEqual([7]);
  });
});
