import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { describeWith } from '../support/test-with.ts';
import { startFakeAnthropic } from '../support/fake-anthropic.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { waitFor } from '../support/wait.ts';
import { ASANOTHER, noOtherUser, OwnSystemd } from './own-systemd.ts';
import { DOWN, ENTER, Terminal } from './terminal.ts';

const KEY = 'sk-ant-of-this-terminal-alone';

describeWith('python3')('init as a person who is not root', () => {
  test.skipIf(noOtherUser !== undefined)(
    'ends with a service that has the key of the terminal, and with a conversation on Telegram: 7 answers',
    async () => {
      await using model = await startFakeAnthropic({ apiKey: KEY, handler: () => 'Good morning, Ann.' });
      await using telegram = await startFakeTelegram();
      using systemd = new OwnSystemd();
      const { home, unit } = systemd;
      const settings = { gateway: { port: 0 }, channels: { telegram: { apiRoot: telegram.apiRoot } } };
      writeFileSync(join(home, 'config.json'), JSON.stringify(settings), { mode: 0o644 });
      const env = {
        ...systemd.env,
        ANTHROPIC_API_KEY: KEY,
        ANTHROPIC_BASE_URL: model.url,
        OLLAMA_HOST: 'http://127.0.0.1:47',
        TZ: 'Europe/Vienna',
      };
      await using terminal = new Terminal(['init'], env, ASANOTHER);
      await terminal.sees('ANTHROPIC_API_KEY is set');
      await terminal.answer('', ENTER);
      await terminal.answer('Which model?', ENTER);
      await terminal.answer('Your time zone', ENTER);
      await terminal.answer('Where do you want to talk to it?', DOWN + ENTER);
      await terminal.answer('The bot’s token', telegram.token + ENTER);
      await terminal.sees('Ctrl-C stops');
      telegram.userSays(7, `/start ${/start=(?<code>\w+)/u.exec(terminal.screen)?.groups?.['code']}`);
      await terminal.sees('I wrote to you there.');
      await terminal.sees('How should it run?');
      await terminal.choose('as a service');
      await terminal.sees('Copy ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL into');
      await terminal.answer('', ENTER);
      await terminal.sees('The service is installed and running.');
      expect(await terminal.ended, terminal.screen).toBe(0);
      expect(terminal.answers).toBe(7);
      expect(terminal.screen).not.toContain(KEY);
      const texts = (): readonly string[] => telegram.sentMessages.map(({ text }) => text);
      expect(texts()[0]).toMatch(/^This is your assistant\./u);

      telegram.userSays(7, 'good morning');
      await waitFor(() => texts().includes('Good morning, Ann.'), { what: 'the answer', timeoutMs: 40_000 });
      const file = join(home, 'service.env');
      expect(readFileSync(file, 'utf8')).toContain(`ANTHROPIC_API_KEY='${KEY}'\n`);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      expect(readFileSync(unit, 'utf8')).not.toContain(KEY);
    },
  );
});
