import type { Command } from './command.ts';

export const retryCommand: Command = {
  name: 'retry',
  description: 'run your last message again when it failed or was stopped',
  role: 'guest',
  priority: false,
  interrupts: false,
  run: async ({ message, ports }) => {
    const last = ports.lastTurn(message.sessionKey);
    if (last === undefined) return 'There is no message to run again.';
    if (last.outcome !== 'failed' && last.outcome !== 'stopped') {
      return 'Your last message was answered, so I do not run it again. Send it once more if you want another answer.';
    }
    if (last.messages.length === 0) return 'Your last message is too old to run again; please send it once more.';
    return { rerun: last };
  },
};
