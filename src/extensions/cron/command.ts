import { AppError, type InboundMessage } from '../../core/api.ts';
import type { ChatCommand } from '../../core/api-tools.ts';

type CronAction = 'list' | 'show' | 'remove' | 'enable' | 'disable' | 'run';

/** Returns the reply. Throws an error with one sentence if the action cannot be done. */
type Cron = (message: InboundMessage, action: CronAction, id: string, code: string) => Promise<string>;

const ACTIONS: ReadonlySet<string> = new Set<CronAction>(['show', 'remove', 'enable', 'disable', 'run']);
const isAction = (word: string): word is CronAction => ACTIONS.has(word);

/** /cron: lists and changes scheduled jobs without the model. */
export const cronCommand = (cron: Cron): ChatCommand => ({
  name: 'cron',
  description: 'list scheduled jobs; `/cron show|remove|enable|disable|run ID`',
  role: 'owner',
  priority: true,
  interrupts: false,
  run: async ({ message, args }) => {
    const [action = '', id = '', code = ''] = args.split(/\s+/u);
    try {
      if (action === '' || action === 'list') return await cron(message, 'list', '', '');
      if (isAction(action) && id !== '') return await cron(message, action, id, code);
      if (!isAction(action) && id === '') return await cron(message, 'show', action, '');
      return 'Write `/cron` to list the jobs, or `/cron show|remove|enable|disable|run ID`. To schedule something new, just tell me what and when.';
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
  },
});
