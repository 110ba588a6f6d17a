import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../config/temporary-home.ts';
import { describeWith } from '../support/test-with.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { CTRL_C, DOWN, ENTER, Terminal } from './terminal.ts';

const WHERE = 'Where do you want to talk to it?';
const BOT_TOKEN = 'The bot’s token';

/** Init on a home that has a model, at the questions about a platform; at the last question Ctrl-C is pressed. */
async function stopAt(
  channels: Readonly<Record<string, unknown>>,
  platform: string,
  questions: readonly (readonly [question: string, keys: string])[],
): Promise<void> {
  const home = temporaryFolder();
  const config = JSON.stringify({ agent: { model: 'demo/scripted', timezone: 'UTC' }, channels });
  writeFileSync(join(home, 'config.json'), config);
  await using terminal = new Terminal(['init'], {
    ASSISTANT_HOME: home,
    OLLAMA_HOST: 'http://127.0.0.1:47',
    TZ: 'UTC',
  });
  await terminal.sees('What do you want to set up?');
  await terminal.choose('a chat platform');
  await terminal.answer(WHERE, platform + ENTER);
  for (const [question, keys] of questions.slice(0, -1)) await terminal.answer(question, keys + ENTER);
  await terminal.answer(questions.at(-1)?.[0] ?? '', CTRL_C);
  expect(await terminal.ended).toBe(130);
  expect(terminal.screen).toContain('Stopped.');
  expect(readFileSync(join(home, 'config.json'), 'utf8')).toBe(config);
  expect(readdirSync(home)).not.toContain('secrets');
}

describeWith('python3')('Ctrl-C leaves the settings as they were', () => {
  test('at the token of a bot on Telegram', async () => {
    await using telegram = await startFakeTelegram();
    await stopAt({ telegram: { apiRoot: telegram.apiRoot } }, DOWN, [[BOT_TOKEN, '']]);
  });

  test.each([1, 2, 3])('at step %i of Discord: token, owner, waiting for the server', async (steps) => {
    await using discord = await startFakeDiscord();
    const questions = [
      [BOT_TOKEN, discord.token],
      ['Are you ann', ''],
      ['Waiting until the bot is in your server', ''],
    ] as const;
    await stopAt({ discord: { apiBase: discord.apiBase } }, DOWN + DOWN, questions.slice(0, steps));
  });

  test.each([1, 2, 3])('at step %i of Slack: bot token, app token, waiting for the code', async (steps) => {
    await using slack = await startFakeSlack();
    const questions = [
      ['The bot token', slack.config.botToken],
      ['The app-level token', slack.config.appToken],
      ['Waiting for 10 minutes', ''],
    ] as const;
    await stopAt({ slack: { apiUrl: slack.config.apiUrl } }, DOWN + DOWN + DOWN, questions.slice(0, steps));
  });
});
