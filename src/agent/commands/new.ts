import { plural } from '../../util/text.ts';
import type { Command } from './command.ts';

interface NewPorts {
  /** Everything before is out of the session's history; the same `id` does it once. */
  readonly resetSession: (sessionKey: string, reason: string, options: { readonly id: string }) => Promise<void>;
}

export const newCommand = ({ resetSession }: NewPorts): Command => ({
  name: 'new',
  description: 'start a fresh conversation; the old one stays on record',
  role: 'guest',
  priority: false,
  interrupts: true,
  repeatable: true,
  run: async ({ turnId, message, dropped }) => {
    await resetSession(message.sessionKey, 'new', { id: `reset:${turnId}` });
    const aside = dropped === 0 ? '' : ` (${plural(dropped, 'waiting message')} dropped)`;
    return `A fresh start${aside}. What do we do?`;
  },
});
