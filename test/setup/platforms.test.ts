import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { CommandLine } from '../cli/command-line.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { testWith } from '../support/test-with.ts';
import { startFakeDiscord } from '../support/fake-discord.ts';
import { startFakeSlack } from '../support/fake-slack.ts';
import { waitFor } from '../support/wait.ts';
import { DOWN, ENTER, Terminal, UP } from './terminal.ts';

const WORDS = 'This is your assistant. You are my owner here. I answer as soon as I am running.';
const WHERE = 'Where do you want to talk to it?';

function homeWith(channels: Readonly<Record<string, unknown>>): string {
  const home = temporaryFolder();
  writeFileSync(join(home, 'config.json'), JSON.stringify({ channels }));
  return home;
}

async function begin(home: string): Promise<Terminal> {
  const terminal = new Terminal(['init'], { ASSISTANT_HOME: home, OLLAMA_HOST: '127.0.0.1:47' });
  await terminal.answer('Who provides the model?', 'demo');
  await terminal.answer('Search: demo', ENTER);
  await terminal.answer('Your time zone', ENTER);
  return terminal;
}

describe('assistant init with Discord', () => {
  testWith('python3')(
    'waits for the intent, shows the invitation, and makes the maker of the application the owner',
    async () => {
      await using discord = await startFakeDiscord();
      discord.gateway.mayReadMessages = false;
      const home = homeWith({ discord: { apiBase: discord.apiBase } });
      await using terminal = await begin(home);
      await terminal.answer(WHERE, DOWN + DOWN + ENTER);
      await terminal.answer('The bot’s token', `wrong${ENTER}`);
      await terminal.sees('Discord refused this token.');
      await terminal.answer('The bot’s token', discord.token + ENTER);
      await terminal.sees('Message Content Intent is off');
      discord.gateway.mayReadMessages = true;
      await terminal.answer('Is it on now?', ENTER);
      await terminal.answer('Are you ann (123456789012345678)?', ENTER);
      await terminal.sees('/oauth2/authorize?client_id=');
      await terminal.sees('Waiting until the bot is in your server');
      discord.addChannel();
      await terminal.answer('How should it run?', UP + ENTER);
      expect(await terminal.ended).toBe(0);
      expect(terminal.screen).toContain('scope=bot+applications.commands&permissions=274878008320');
      expect(terminal.screen).not.toContain(discord.token);
      const { config } = await loadConfig({ program: PROGRAM, home, env: {} });
      const ids = ['123456789012345678'];
      expect(config.channels['discord']).toMatchObject({ token: discord.token, owners: ids, allowFrom: ids });
      expect(discord.calls.map(({ route, body }) => [route.replaceAll(/\d{5,}/gu, 'N'), body]).slice(-2)).toMatchObject(
        [
          ['POST /users/@me/channels', { recipient_id: '123456789012345678' }],
          ['POST /channels/N/messages', { content: WORDS }],
        ],
      );
    },
  );

  test('by flags needs no terminal', async () => {
    await using discord = await startFakeDiscord();
    const line = new CommandLine();
    writeFileSync(
      join(line.home, 'config.json'),
      JSON.stringify({ channels: { discord: { apiBase: discord.apiBase } } }),
    );
    line.env = { BOT: discord.token };
    const argv = ['--yes', '--provider', 'demo', '--discord-token-env', 'BOT', '--discord-owner'];
    expect(await line.run('init', ...argv, 'ann')).toBe(1);
    expect(line.err).toContain('An id on Discord is a long number, never a name.');
    expect(await line.run('init', ...argv, '123456789012345678')).toBe(0);
    expect(readFileSync(join(line.home, 'config.json'), 'utf8')).toContain('"token": "${BOT}"');
  });
});

test('the only one in allowFrom is the owner already, the first of several is not', async () => {
  await using discord = await startFakeDiscord();
  const line = new CommandLine();
  line.env = { BOT: discord.token };
  const argv = ['--yes', '--provider', 'demo', '--discord-token-env', 'BOT'];
  for (const [allowFrom, owners] of [
    [['5', '6'], []],
    [['5'], ['5']],
  ]) {
    const settings = { channels: { discord: { apiBase: discord.apiBase, allowFrom } } };
    writeFileSync(join(line.home, 'config.json'), JSON.stringify(settings));
    expect(await line.run('init', ...argv)).toBe(0);
    const { config } = await loadConfig({ program: PROGRAM, home: line.home, env: line.env });
    expect(config.channels['discord']).toMatchObject({ owners, allowFrom });
  }
});

describe('assistant init with Slack', () => {
  testWith('python3')('shows the manifest of docs/slack.md, checks both tokens, and writes to the owner', async () => {
    await using slack = await startFakeSlack();
    const home = homeWith({ slack: { apiUrl: slack.config.apiUrl } });
    await using terminal = await begin(home);
    await terminal.answer(WHERE, DOWN + DOWN + DOWN + ENTER);
    await terminal.sees('socket_mode_enabled: true');
    await terminal.answer('The bot token', `xapp-test-app-token${ENTER}`);
    await terminal.sees('That is the app-level token. The one asked for begins with xoxb-.');
    await terminal.answer('The bot token', `xoxb-test.token${ENTER}`);
    await terminal.sees('This token has signs in it that no token of Slack has.');
    await terminal.answer('The bot token', `xoxb-wrong${ENTER}`);
    await terminal.sees('Slack refused this token.');
    await terminal.answer('The bot token', `xoxb-test-bot-token${ENTER}`);
    await terminal.answer('The app-level token', `xapp-test-app-token${ENTER}`);
    await terminal.sees('open testbot under Apps');
    await terminal.sees('Waiting for 10 minutes');
    const code = /send it (?<code>\w{8})\./u.exec(terminal.screen)?.groups?.['code'] ?? '';
    await waitFor(() => slack.sockets.count > 0, { what: 'the connection' });
    slack.sends('U0EVE', 'C0GENERAL', code);
    slack.sends('U0EVE', 'D0EVE', 'hello');
    slack.sends('U0123456789', 'D0ANN', code.toLowerCase());
    await terminal.answer('How should it run?', UP + ENTER);
    expect(await terminal.ended).toBe(0);
    const page = readFileSync(new URL('../../docs/slack.md', import.meta.url), 'utf8');
    const yaml = /```yaml\n(?<yaml>[\s\S]*?) *```/u.exec(page)?.groups?.['yaml'] ?? '';
    const shown = terminal.screen.replaceAll('\r', '');
    expect(shown).toContain(yaml.replaceAll(/^ {3}/gmu, '').trim());
    expect(shown).not.toContain('xoxb-test');
    const { config } = await loadConfig({ program: PROGRAM, home, env: {} });
    expect(config.channels['slack']).toMatchObject({
      botToken: 'xoxb-test-bot-token',
      appToken: 'xapp-test-app-token',
      owners: ['U0123456789'],
    });
    expect(slack.calls.at(-1)).toMatchObject({
      method: 'chat.postMessage',
      payload: { channel: 'U0123456789', text: WORDS },
    });
  });

  test('by flags needs no terminal; the app-level token and the owner are flags of their own', async () => {
    await using slack = await startFakeSlack();
    const line = new CommandLine();
    const settings = { channels: { slack: { apiUrl: slack.config.apiUrl } } };
    writeFileSync(join(line.home, 'config.json'), JSON.stringify(settings));
    line.env = { BOT: slack.config.botToken, APP: slack.config.appToken };
    const argv = ['--yes', '--provider', 'demo', '--slack-bot-token-env', 'BOT', '--slack-app-token-env', 'APP'];
    expect(await line.run('init', ...argv, '--slack-owner', 'ann')).toBe(1);
    expect(line.err).toContain('A member id in Slack looks like U0123456789.');
    expect(await line.run('init', ...argv, '--slack-owner', 'U0123456789')).toBe(0);
    const { config } = await loadConfig({ program: PROGRAM, home: line.home, env: line.env });
    expect(config.channels['slack']).toMatchObject({ ...slack.config, owners: ['U0123456789'] });
    expect(readFileSync(join(line.home, 'config.json'), 'utf8')).toContain('"appToken": "${APP}"');
    expect(slack.calls.at(-1)).toMatchObject({ method: 'chat.postMessage', payload: { channel: 'U0123456789' } });
  });
});

describe('assistant init --yes with a platform whose token is missing', () => {
  test.each([
    [['--telegram-owner', '7'], '--telegram-token-env NAME', 'TELEGRAM_BOT_TOKEN'],
    [['--discord-owner', '123456789012345678'], '--discord-token-env NAME', 'DISCORD_BOT_TOKEN'],
    [['--slack-app-token-env', 'APP'], '--slack-bot-token-env NAME', 'SLACK_BOT_TOKEN'],
    [['--slack-bot-token-env', 'BOT'], '--slack-app-token-env NAME', 'SLACK_APP_TOKEN'],
  ])('%j: exit code 2, and the sentence names the flag', async (argv, flag, variable) => {
    await using slack = await startFakeSlack();
    const line = new CommandLine();
    const settings = { channels: { slack: { apiUrl: slack.config.apiUrl } } };
    writeFileSync(join(line.home, 'config.json'), JSON.stringify(settings));
    line.env = { BOT: slack.config.botToken, APP: slack.config.appToken };
    expect(await line.run('init', '--yes', '--provider', 'demo', ...argv)).toBe(2);
    expect(line.err).toContain(
      `A token is missing: give ${flag}, the variable that holds it, or put it into ${variable}.`,
    );
    expect(readFileSync(join(line.home, 'config.json'), 'utf8')).toBe(JSON.stringify(settings));
  });
});
