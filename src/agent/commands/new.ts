import type { Command } from './command.ts';

export const newCommand: Command = {
  name: 'new',
  description: 'start a fresh conversation; the old one stays on record',
  role: 'guest',
  priority: false,
  interrupts: true,
  run: async ({ message, ports }) => {
    await ports.resetSession(message.sessionKey, 'new');
    return 'A fresh start. What do we do?';
  },
};
