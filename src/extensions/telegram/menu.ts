import type { Api } from 'grammy/web';
import type { MenuCommand } from '../../core/api-channels.ts';
import { errorMessage, type Logger, cut } from '../../core/api.ts';
import type { GrammySignal } from './transport.ts';

/** Names that the Bot API takes into the menu. Commands with other names can still be typed. */
const NAME = /^[a-z0-9_]{1,32}$/u;
const LONGEST_DESCRIPTION = 256;
const MOST = 100;

/** Sets Telegram's command menu: all commands for the owners, all but the owners' for others. A failure is logged. */
export async function showMenu(
  api: Api,
  { commands, owners, log }: { commands: readonly MenuCommand[]; owners: readonly string[]; log: Logger },
  signal: GrammySignal,
): Promise<void> {
  const shown = (list: readonly MenuCommand[]): { command: string; description: string }[] =>
    list
      .filter(({ name }) => NAME.test(name))
      .slice(0, MOST)
      .map(({ name, description }) => ({ command: name, description: cut(description, LONGEST_DESCRIPTION) }));
  try {
    await api.raw.setMyCommands({ commands: shown(commands.filter(({ isOwners }) => !isOwners)) }, signal);
    for (const owner of owners.filter((id) => /^\d+$/u.test(id))) {
      const scope = { type: 'chat' as const, chat_id: Number(owner) };
      // Fails for an owner who has not written to the bot yet: Telegram then has no chat with them.
      await api.raw.setMyCommands({ commands: shown(commands), scope }, signal).catch(() => {});
    }
  } catch (error) {
    log.info('telegram: command menu not set', { reason: errorMessage(error) });
  }
}
