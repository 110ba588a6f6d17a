import type { ClosedTurn } from '../../journal/turns.ts';
import type { Command } from './command.ts';

interface RetryPorts {
  /** The newest turn of a session that ran no command. */
  readonly lastTurn: (sessionKey: string) => ClosedTurn | undefined;
}

export const retryCommand = ({ lastTurn }: RetryPorts): Command => ({
  name: 'retry',
  description: 'run your last message again when it failed or was stopped',
  role: 'guest',
  priority: false,
  interrupts: false,
  run: async ({ message }) => {
    const last = lastTurn(message.sessionKey);
    if (last === undefined) return 'There is no message to run again.';
    if (last.outcome !== 'failed' && last.outcome !== 'stopped') {
      return 'Your last message was answered, so I do not run it again. Send it once more if you want another answer.';
    }
    if (last.messages.length === 0) return 'Your last message is too old to run again; please send it once more.';
    return { rerun: last };
  },
});
