import { assistantCommand } from '../../util/assistant-command.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import { errorMessage } from '../../util/errors.ts';
import type { ChatCommand } from './command.ts';

interface RestartPorts {
  /** Restarts the process after a moment; undefined when nothing would start it again. */
  readonly restart: (() => void) | undefined;
  /** Checks the current configuration. Rejects with one sentence if the program could not start with it. */
  readonly rehearse: () => Promise<unknown>;
  /** Why this person could no longer command it after a restart, as one sentence; null: they could. */
  readonly locksOut: (message: InboundMessage) => Promise<string | null>;
}

export const restartCommand = ({ restart, rehearse, locksOut }: RestartPorts): ChatCommand => ({
  name: 'restart',
  description: 'restart the program; unfinished work continues',
  role: 'owner',
  priority: true,
  interrupts: false,
  run: async ({ message }) => {
    if (restart === undefined) return `/restart only works when I run with \`${assistantCommand('gateway')}\`.`;
    try {
      await rehearse();
    } catch (error) {
      return `I did not restart, because I could not start with the current configuration. ${errorMessage(error)} I keep running with the old one; correct it, then send /restart again.`;
    }
    const out = await locksOut(message);
    if (out !== null) return `I did not restart: ${out}`;
    restart();
    return 'Restarting. Unfinished work continues in a moment.';
  },
});
