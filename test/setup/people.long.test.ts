import { describe, expect, test } from 'vitest';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { waitFor } from '../support/wait.ts';
import { chooseProvider, leave, MODEL, MOST_SECONDS, runHere, sitDown, WHERE, ZONE } from './people-world.ts';
import { DOWN, ENTER } from './terminal.ts';

const ANN = '123456789012345678';

describe('from nothing to the first answer', () => {
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
});
