import { assistantCommand } from '../../util/assistant-command.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Command } from './command.ts';

interface RestartPorts {
  /** Ends this process and begins anew, a moment later; undefined where nothing would begin anew. */
  readonly restart: (() => void) | undefined;
  /** Rejects with one sentence when the program could not start with the configuration as it is now. */
  readonly rehearse: () => Promise<void>;
}

export const restartCommand = ({ restart, rehearse }: RestartPorts): Command => ({
  name: 'restart',
  description: 'restart the program; unfinished work is resumed',
  role: 'owner',
  priority: true,
  interrupts: false,
  run: async () => {
    if (restart === undefined)
      return `I can restart only where I run as a gateway (\`${assistantCommand('gateway')}\`).`;
    try {
      await rehearse();
    } catch (error) {
      return `I did not restart: with the configuration as it is now I could not start. ${errorMessage(error)} Until then I go on as before; send /restart again when it is corrected.`;
    }
    restart();
    return 'Restarting. Unfinished work is resumed in a moment.';
  },
});
