import { plural } from '../../util/text.ts';
import type { Command } from './command.ts';

interface NewPorts {
  /** Everything before is out of the session's history. */
  readonly resetSession: (sessionKey: string, reason: string) => Promise<void>;
}

export const newCommand = ({ resetSession }: NewPorts): Command => ({
  name: 'new',
  description: 'start a fresh conversation; the old one stays on record',
  role: 'guest',
  priority: false,
  interrupts: true,
  run: async ({ message, dropped }) => {
    await resetSession(message.sessionKey, 'new');
    const aside = dropped === 0 ? '' : ` (${plural(dropped, 'waiting message')} dropped)`;
    return `A fresh start${aside}. What do we do?`;
  },
});
