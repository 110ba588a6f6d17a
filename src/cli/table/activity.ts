import { command, type Group } from '../../core/cli/command.ts';
import { argument, choice, flag, optionalArgument, text, wholeNumber } from '../../core/cli/values.ts';

// The commands about what it did, and what did not come to its end.

const json = flag('as JSON');
const id = argument('its id, as the list shows it');
/** Entries that are shown where `--last` is not given. */
const SHOWN = 30;

export const outbox: Group = {
  name: 'outbox',
  description: 'messages that are waiting to be sent or could not be delivered',
  commands: [
    command({
      name: 'list',
      description: 'list messages that are waiting to be sent or could not be delivered',
      isDefault: true,
      options: { json },
      load: async () => (await import('../activity/mail.ts')).outboxListCommand,
    }),
    command({
      name: 'retry',
      description: 'send a message again',
      arguments: { id },
      options: { json },
      examples: ['outbox retry 01K9ZQ3V5T8N'],
      load: async () => (await import('../activity/mail.ts')).mailCommand('outboxRetry', 'The message is sent again.'),
    }),
    command({
      name: 'drop',
      description: 'give up a message: it is not sent',
      arguments: { id },
      options: { json },
      examples: ['outbox drop 01K9ZQ3V5T8N'],
      load: async () => (await import('../activity/mail.ts')).mailCommand('outboxDrop', 'The message is not sent.'),
    }),
  ],
};

export const inbox: Group = {
  name: 'inbox',
  description: 'messages that have not been answered',
  commands: [
    command({
      name: 'list',
      description: 'list messages that have not been answered',
      isDefault: true,
      options: { json },
      load: async () => (await import('../activity/mail.ts')).inboxListCommand,
    }),
    command({
      name: 'retry',
      description: 'give a message a new turn, so that it is answered',
      arguments: { id },
      options: { json },
      examples: ['inbox retry 01K9ZQ3V5T8N'],
      load: async () =>
        (await import('../activity/mail.ts')).mailCommand('inboxRetry', 'The message is queued for a new turn.'),
    }),
    command({
      name: 'drop',
      description: 'give up a message: it is not answered',
      arguments: { id },
      options: { json },
      examples: ['inbox drop 01K9ZQ3V5T8N'],
      load: async () => (await import('../activity/mail.ts')).mailCommand('inboxDrop', 'The message is not answered.'),
    }),
  ],
};

export const logs = command({
  name: 'logs',
  description: 'show the log of the gateway, also while none runs',
  worksOn: 'any folder',
  options: {
    follow: flag('wait for new lines, until Ctrl-C', { short: 'f' }),
    lines: wholeNumber('<count>', 'how many lines (default: 200; with --since all)', { min: 1, max: 1_000_000 }),
    level: choice('<level>', 'only lines of this level and more serious ones', {
      choices: ['debug', 'info', 'warn', 'error'],
      fallback: 'debug',
    }),
    since: text('<time>', 'only lines since then: 30m, 2h or 3d ago, 2027-03-01 or 2027-03-01T09:00'),
    json: flag('as JSON, one object on each line'),
  },
  after: 'The log is logs/assistant.log in the home, with four older files. What is written depends on log.level.',
  examples: ['logs --follow', 'logs --level warn --since 2h', 'logs --json --since 2027-03-01 > log.jsonl'],
  load: async () => (await import('../activity/logs.ts')).logsCommand,
});

export const why = command({
  name: 'why',
  description:
    'why a message was answered as it was, late or not at all; without an id, the newest messages, jobs and heartbeats',
  arguments: {
    about: optionalArgument('id of a message, a turn, a job, a conversation such as telegram:123, or heartbeat'),
  },
  options: {
    since: text('<time>', 'all that happened since then: 30m, 2h or 3d ago, 2027-03-01 or 2027-03-01T09:00'),
    last: last(999),
    json,
  },
  examples: ['why telegram:123', 'why --since 2h'],
  load: async () => (await import('../activity/why.ts')).whyCommand,
});

export const audit = command({
  name: 'audit',
  description: 'tool calls, chat commands and changes: who asked, and what was decided',
  options: {
    last: last(9_999),
    about: text('<text>', 'only entries with this text in the call, the session, the person or the turn'),
    asked: flag('only entries that were refused or needed an answer'),
    json,
  },
  examples: ['audit --asked', 'audit --about "rm -rf"'],
  load: async () => (await import('../activity/audit.ts')).auditCommand,
});

export const trace: Group = {
  name: 'trace',
  description: 'what happened in a turn: model calls and tool calls, with time, tokens and cost',
  commands: [
    command({
      name: 'list',
      description: 'list the newest turns with their ids',
      isDefault: true,
      options: { last: last(999), json },
      examples: ['trace', 'trace list --last 5'],
      load: async () => (await import('../activity/trace.ts')).traceListCommand,
    }),
    command({
      name: 'show',
      description: 'show what happened in a turn, step by step',
      arguments: { turn: optionalArgument('its id, as the list or `audit` shows it (default: the newest)') },
      options: { json },
      examples: ['trace show', 'trace show 01K9ZQ3V5T8N0M2R4W6Y8ABCDE'],
      load: async () => (await import('../activity/trace.ts')).traceShowCommand,
    }),
  ],
};

export const undo = command({
  name: 'undo',
  description: 'take back what a turn changed, after showing what comes back and what stays',
  arguments: { turn: argument('its id, as `trace` lists it') },
  options: { dryRun: flag('only show it'), yes: flag('do not ask'), json },
  examples: ['undo 01K9ZQ3V5T8N0M2R4W6Y8ABCDE --dry-run', 'undo 01K9ZQ3V5T8N0M2R4W6Y8ABCDE --yes'],
  load: async () => (await import('../activity/undo.ts')).undoCommand,
});

export const usage = command({
  name: 'usage',
  description: 'tokens and cost of model calls, by day, model, source, conversation or job',
  options: {
    by: choice('<what>', 'one line for each of these', {
      choices: ['day', 'model', 'source', 'session', 'job'],
      fallback: 'day',
    }),
    days: wholeNumber('<count>', 'how many days, today included (default: 30)', { min: 1, max: 3_660, fallback: 30 }),
    json,
  },
  examples: ['usage', 'usage --by model --days 7', 'usage --by job'],
  load: async () => (await import('../activity/usage-report.ts')).usageCommand,
});

function last(max: number) {
  return wholeNumber('<count>', `how many entries to show (default: ${SHOWN})`, { min: 1, max, fallback: SHOWN });
}
