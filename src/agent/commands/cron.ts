import type { InboundMessage } from '../../bus/messages.ts';
import { AppError } from '../../util/errors.ts';
import type { Command } from './command.ts';

type CronAction = 'list' | 'show' | 'remove' | 'enable' | 'disable' | 'run';

interface CronPorts {
  /** Throws one sentence when it cannot be done. */
  readonly cron: (message: InboundMessage, action: CronAction, id: string, code: string) => Promise<string>;
}

const ACTIONS: ReadonlySet<string> = new Set<CronAction>(['show', 'remove', 'enable', 'disable', 'run']);
const isAction = (word: string): word is CronAction => ACTIONS.has(word);

/** What is scheduled, and changing it without the model. */
export const cronCommand = ({ cron }: CronPorts): Command => ({
  name: 'cron',
  description: 'what is scheduled; `/cron show|remove|enable|disable|run ID`',
  role: 'owner',
  priority: true,
  interrupts: false,
  run: async ({ message, args }) => {
    const [action = '', id = '', code = ''] = args.split(/\s+/u);
    try {
      if (action === '' || action === 'list') return await cron(message, 'list', '', '');
      if (isAction(action) && id !== '') return await cron(message, action, id, code);
      if (!isAction(action) && id === '') return await cron(message, 'show', action, '');
      return 'Say `/cron`, or `/cron show|remove|enable|disable|run ID`. To set something, just tell me.';
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  },
});
