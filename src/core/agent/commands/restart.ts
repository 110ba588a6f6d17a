import { assistantCommand } from '../../util/assistant-command.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import type { App } from '../../app.ts';
import { errorMessage } from '../../util/errors.ts';
import type { ChatCommand } from './command.ts';

/** So that the reply is on its way before the process ends. */
const RESTART_DELAY_MS = 500;

/** `locksOut`: why this person would no longer be an owner after a restart, in one sentence; null: they still would. */
export const restartCommand = (
  { restart, rehearse, clock }: App,
  locksOut: (message: InboundMessage) => Promise<string | null>,
): ChatCommand => ({
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
    clock.timer(RESTART_DELAY_MS, restart);
    return 'Restarting. Unfinished work continues in a moment.';
  },
});
