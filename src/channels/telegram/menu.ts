import type { Api } from 'grammy/web';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { MenuCommand } from '../channel.ts';
import type { GrammySignal } from './transport.ts';

/** What the Bot API takes for a command's name; others can be typed all the same. */
const NAME = /^[a-z0-9_]{1,32}$/u;
const LONGEST_DESCRIPTION = 256;
const MOST = 100;

/** Shows the commands in Telegram's menu: everybody those for everybody, owners all. Never throws. */
export async function showMenu(
  api: Api,
  { commands, owners, log }: { commands: readonly MenuCommand[]; owners: readonly string[]; log: Logger },
  signal: GrammySignal,
): Promise<void> {
  const shown = (list: readonly MenuCommand[]): { command: string; description: string }[] =>
    list
      .filter(({ name }) => NAME.test(name))
      .slice(0, MOST)
      .map(({ name, description }) => ({ command: name, description: description.slice(0, LONGEST_DESCRIPTION) }));
  try {
    await api.raw.setMyCommands({ commands: shown(commands.filter(({ isOwners }) => !isOwners)) }, signal);
    for (const owner of owners.filter((id) => /^\d+$/u.test(id))) {
      const scope = { type: 'chat' as const, chat_id: Number(owner) };
      // Telegram knows no chat of an owner who never wrote.
      await api.raw.setMyCommands({ commands: shown(commands), scope }, signal).catch(() => {});
    }
  } catch (error) {
    log.info('commands: menu not set', { reason: errorMessage(error) });
  }
}
