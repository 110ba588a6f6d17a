import type { App } from '../../app.ts';
import type { ChatCommand } from './command.ts';

/** What people use commands for, a line of /help each. */
const USES: readonly { readonly use: string; readonly commands: readonly string[] }[] = [
  { use: 'Talk', commands: ['new', 'stop', 'retry', 'undo', 'model', 'busy'] },
  { use: 'Look', commands: ['status', 'agent', 'why', 'usage', 'context', 'tape'] },
  { use: 'Remember', commands: ['mem', 'memory', 'soul', 'skills'] },
  { use: 'Later', commands: ['cron'] },
  { use: 'Decide', commands: ['approve', 'deny', 'trust', 'pair'] },
  { use: 'Set up', commands: ['start', 'help', 'setup', 'restart'] },
];

export const helpCommand = (app: App): ChatCommand => ({
  name: 'help',
  description: 'the commands by use; `/help all` explains each',
  role: 'guest',
  priority: true,
  interrupts: false,
  repeatable: true,
  run: async ({ message: { role }, args }) => {
    const known = app.commands.of(role);
    if (args.trim().toLowerCase() === 'all') {
      return [
        'Write what you want, in your own words. These commands do something at once, without the model:',
        ...known.map(({ name, description }) => `- /${name}: ${description}`),
      ].join('\n');
    }
    const names = new Set(known.map(({ name }) => name));
    const lines = USES.map(({ use, commands: ofUse }) =>
      line(
        use,
        ofUse.filter((name) => names.has(name)),
      ),
    );
    const others = [...names].filter((name) => USES.every((use) => !use.commands.includes(name)));
    return [
      'Write what you want, in your own words. There are also commands:',
      ...[...lines, line('More', others)].filter((text) => text !== ''),
      // Without the empty line Markdown takes it for a part of the list.
      '',
      '/help all explains each of them.',
    ].join('\n');
  },
});

function line(use: string, names: readonly string[]): string {
  return names.length === 0 ? '' : `- ${use}: ${names.map((name) => `/${name}`).join(', ')}`;
}
