import { expect, test } from 'vitest';
import { recordingLog } from '../support/recording-log.ts';
import { waitFor } from '../support/wait.ts';
import { OWNER, startWorld } from '../support/world.ts';

interface Menu {
  readonly commands: readonly { readonly command: string }[];
  readonly scope?: { readonly chat_id: number };
}

test('commands are in the menu of the platform: owners see all, others those that are for everybody', async () => {
  await using world = await startWorld();
  const menus = (): readonly Menu[] =>
    world.telegram.calls
      .filter(({ method }) => method === 'setMyCommands')
      .map(({ payload }) => JSON.parse(JSON.stringify(payload)));
  await waitFor(() => menus().length === 2, { what: 'both menus' });
  const [everybodys, owners] = menus().map(({ commands }) => commands.map(({ command }) => command));
  expect(everybodys).toContain('help');
  expect(everybodys).not.toContain('restart');
  expect(owners).toEqual(expect.arrayContaining(['help', 'restart', 'mem']));
  expect(menus()[1]?.scope?.chat_id).toBe(OWNER);
});

test('a bot that is to be open but is in privacy mode is told which switch to flip', async () => {
  const log = recordingLog();
  await using world = await startWorld({ log, config: { channels: { telegram: { groups: { policy: 'open' } } } } });
  world.model.reply('Hello.');
  world.telegram.userSays(OWNER, 'hi');
  await waitFor(() => world.telegram.sentMessages.length === 1);
  expect(log.lines.map(({ message }) => message).join('\n')).toContain('privacy mode off at @BotFather (/setprivacy)');
});
