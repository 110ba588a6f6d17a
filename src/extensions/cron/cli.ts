import { argument, choice, commandRow, flagOption, textOption, type GroupPart } from '../../core/api-rows.ts';

const json = flagOption('as JSON');
const id = argument('id of the job');

/** `assistant cron …` */
export const cronRows: GroupPart = {
  name: 'cron',
  description: 'reminders and scheduled tasks',
  commands: [
    commandRow({
      name: 'list',
      description: 'list the jobs',
      isDefault: true,
      options: { json },
      load: async () => (await import('./commands.ts')).cronListCommand,
    }),
    commandRow({
      name: 'add',
      description: 'add a job',
      arguments: {
        when: argument('"in 20m", "tomorrow at 9", "2027-03-01T09:00", "every 2h" or "0 9 * * 1-5"'),
        text: argument('the message, or with --kind the task or command'),
      },
      options: {
        kind: choice('<kind>', 'message: the text is sent; agent: it is a task; command: a comma command', {
          choices: ['message', 'agent', 'command'],
          fallback: 'message',
        }),
        id: textOption('<id>', 'id of the job (default: made from the text)'),
        zone: textOption('<zone>', 'time zone, e.g. Europe/Vienna'),
        chat: textOption(
          '<chat>',
          'the chat it writes to, e.g. telegram:123456789 (default: where the owner last wrote)',
        ),
        session: choice('<which>', 'own: a conversation of its own; main: that of the chat', {
          choices: ['own', 'main'],
        }),
        json,
      },
      examples: [
        'cron add "in 20m" "Take the bread out"',
        'cron add "0 9 * * 1-5" "Summarise my unread mail" --kind agent --zone Europe/Vienna',
      ],
      load: async () => (await import('./commands.ts')).cronAddCommand,
    }),
    commandRow({
      name: 'show',
      description: 'show a job and its last 20 runs',
      arguments: { id },
      options: { json },
      examples: ['cron show take-the-bread-out'],
      load: async () => (await import('./commands.ts')).cronOneCommand('show'),
    }),
    commandRow({
      name: 'remove',
      description: 'remove a job',
      arguments: { id },
      options: { json },
      examples: ['cron remove take-the-bread-out'],
      load: async () => (await import('./commands.ts')).cronOneCommand('remove'),
    }),
    commandRow({
      name: 'disable',
      description: 'switch a job off',
      arguments: { id },
      options: { json },
      examples: ['cron disable take-the-bread-out'],
      load: async () => (await import('./commands.ts')).cronOneCommand('disable'),
    }),
    commandRow({
      name: 'run',
      description: 'run a job now, and wait for its end',
      arguments: { id },
      options: { json },
      examples: ['cron run take-the-bread-out'],
      load: async () => (await import('./commands.ts')).cronRunCommand,
    }),
    commandRow({
      name: 'enable',
      description: 'switch a job on; asks first if the job was only found in cron/jobs.json',
      arguments: { id },
      options: { yes: flagOption('do not ask'), json },
      examples: ['cron enable take-the-bread-out'],
      load: async () => (await import('./commands.ts')).cronEnableCommand,
    }),
  ],
};
