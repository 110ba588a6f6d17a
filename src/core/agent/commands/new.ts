import type { App } from '../../app.ts';
import { plural } from '../../util/text.ts';
import type { ChatCommand } from './command.ts';

export const newCommand = ({ resetSession }: Pick<App, 'resetSession'>): ChatCommand => ({
  name: 'new',
  description: 'start a fresh conversation; the old one stays on record',
  role: 'guest',
  priority: false,
  interrupts: true,
  repeatable: true,
  run: async ({ turnId, message, dropped }) => {
    await resetSession(message.sessionKey, 'new', { id: `reset:${turnId}` });
    const aside = dropped === 0 ? '' : ` (${plural(dropped, 'waiting message')} dropped)`;
    return `I started a new conversation${aside}. What shall we do?`;
  },
});
