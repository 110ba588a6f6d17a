import { assistantCommand } from '../../util/assistant-command.ts';
import type { Command } from './command.ts';

/**
 * `/setup` where it cannot work: keys and tokens do not belong into a chat. A conversation in a terminal starts the
 * set-up itself and does not come here.
 */
export const setupCommand: Command = {
  name: 'setup',
  description: 'set up model, key and chat platforms; in a terminal only',
  role: 'owner',
  priority: true,
  interrupts: false,
  repeatable: true,
  run: async () =>
    `/setup works in a terminal, since keys and tokens do not belong into a chat. On the machine where I run: \`${assistantCommand('init')}\``,
};
