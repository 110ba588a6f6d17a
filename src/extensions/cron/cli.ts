import { askingRow } from '../../core/api-asking.ts';
import { argument, choice, commandRow, flagOption, textOption, type GroupPart } from '../../core/api-rows.ts';

const json = flagOption('as JSON');
const id = argument('id of the job');
const schedule = { operation: 'cron', show: async () => (await import('./commands.ts')).cronShown } as const;

/** `assistant cron …` */
export const cronRows: GroupPart = {
  name: 'cron',
  description: 'reminders and scheduled tasks',
  commands: [
    askingRow({
      name: 'list',
      description: 'list the jobs',
      isDefault: true,
      ...schedule,
      input: () => ({ action: 'list' }),
    }),
    askingRow({
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
      },
      examples: [
        'cron add "in 20m" "Take the bread out"',
        'cron add "0 9 * * 1-5" "Summarise my unread mail" --kind agent --zone Europe/Vienna',
      ],
      ...schedule,
      input: ({ when, text, kind, id: name, zone, chat, session }) => ({
        action: 'add',
        job: {
          when,
          text,
          kind,
          ...(name === undefined ? {} : { id: name }),
          ...(zone === undefined ? {} : { zone }),
          ...(chat === undefined ? {} : { chat }),
          ...(session === 'main' ? { session } : {}),
        },
      }),
    }),
    askingRow({
      name: 'show',
      description: 'show a job and its last 20 runs',
      arguments: { id },
      examples: ['cron show take-the-bread-out'],
      ...schedule,
      input: ({ id: job }) => ({ action: 'show', id: job }),
    }),
    askingRow({
      name: 'remove',
      description: 'remove a job',
      arguments: { id },
      examples: ['cron remove take-the-bread-out'],
      ...schedule,
      input: ({ id: job }) => ({ action: 'remove', id: job }),
    }),
    askingRow({
      name: 'disable',
      description: 'switch a job off',
      arguments: { id },
      examples: ['cron disable take-the-bread-out'],
      ...schedule,
      input: ({ id: job }) => ({ action: 'disable', id: job }),
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
