import { asking, type Shown } from '../../core/cli/asking.ts';
import { command, type Group } from '../../core/cli/command.ts';
import { argument, choice, flag, optionalArgument, text, wholeNumber } from '../../core/cli/values.ts';
import { readMoment } from '../activity/moment.ts';

// The commands about what it did, and what did not come to its end.

const json = flag('as JSON');
const id = argument('its id, as the list shows it');
/** Entries that are shown where `--last` is not given. */
const SHOWN = 30;

export const outbox: Group = {
  name: 'outbox',
  description: 'messages that are waiting to be sent or could not be delivered',
  commands: [
    asking({
      name: 'list',
      description: 'list messages that are waiting to be sent or could not be delivered',
      isDefault: true,
      operation: 'outboxList',
      show: async () => (await import('../activity/mail.ts')).mailLines,
      nothing: 'Everything was delivered.',
    }),
    asking({
      name: 'retry',
      description: 'send a message again',
      arguments: { id },
      examples: ['outbox retry 01K9ZQ3V5T8N'],
      operation: 'outboxRetry',
      show: async () => done('The message is sent again.'),
    }),
    asking({
      name: 'drop',
      description: 'give up a message: it is not sent',
      arguments: { id },
      examples: ['outbox drop 01K9ZQ3V5T8N'],
      operation: 'outboxDrop',
      show: async () => done('The message is not sent.'),
    }),
  ],
};

export const inbox: Group = {
  name: 'inbox',
  description: 'messages that have not been answered',
  commands: [
    asking({
      name: 'list',
      description: 'list messages that have not been answered',
      isDefault: true,
      operation: 'inboxList',
      show: async () => (await import('../activity/mail.ts')).mailLines,
      nothing: 'Everything was answered.',
    }),
    asking({
      name: 'retry',
      description: 'give a message a new turn, so that it is answered',
      arguments: { id },
      examples: ['inbox retry 01K9ZQ3V5T8N'],
      operation: 'inboxRetry',
      show: async () => done('The message is queued for a new turn.'),
    }),
    asking({
      name: 'drop',
      description: 'give up a message: it is not answered',
      arguments: { id },
      examples: ['inbox drop 01K9ZQ3V5T8N'],
      operation: 'inboxDrop',
      show: async () => done('The message is not answered.'),
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

export const why = asking({
  name: 'why',
  description:
    'why a message was answered as it was, late or not at all; without an id, the newest messages, jobs and heartbeats',
  arguments: {
    about: optionalArgument('id of a message, a turn, a job, a conversation such as telegram:123, or heartbeat'),
  },
  options: {
    since: text('<time>', 'all that happened since then: 30m, 2h or 3d ago, 2027-03-01 or 2027-03-01T09:00'),
    last: last(999),
  },
  examples: ['why telegram:123', 'why --since 2h'],
  operation: 'why',
  input: ({ about, since, last: count }, now) => ({
    count,
    since: since === undefined ? 0 : readMoment(since, { option: '--since', now }),
    ...(about === undefined ? {} : { about }),
  }),
  show: async () => (await import('../activity/why.ts')).whyLines,
});

export const audit = asking({
  name: 'audit',
  description: 'tool calls, chat commands and changes: who asked, and what was decided',
  options: {
    last: last(9_999),
    about: text('<text>', 'only entries with this text in the call, the session, the person or the turn'),
    asked: flag('only entries that were refused or needed an answer'),
  },
  examples: ['audit --asked', 'audit --about "rm -rf"'],
  operation: 'audit',
  input: ({ last: count, asked, about = '' }) => ({ count, asked, about }),
  show: async () => (await import('../activity/audit.ts')).auditLines,
  nothing: 'There are no entries yet.',
});

export const trace: Group = {
  name: 'trace',
  description: 'what happened in a turn: model calls and tool calls, with time, tokens and cost',
  commands: [
    asking({
      name: 'list',
      description: 'list the newest turns with their ids',
      isDefault: true,
      options: { last: last(999) },
      examples: ['trace', 'trace list --last 5'],
      operation: 'turnsList',
      input: ({ last: count }) => ({ count }),
      show: async () => (await import('../activity/trace.ts')).turnLines,
      nothing: 'There was no turn yet.',
    }),
    asking({
      name: 'show',
      description: 'show what happened in a turn, step by step',
      arguments: { turn: optionalArgument('its id, as the list or `audit` shows it (default: the newest)') },
      examples: ['trace show', 'trace show 01K9ZQ3V5T8N0M2R4W6Y8ABCDE'],
      operation: 'turnsTrace',
      show: async () => (await import('../activity/trace.ts')).traceLines,
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

export const usage = asking({
  name: 'usage',
  description: 'tokens and cost of model calls, by day, model, source, conversation or job',
  options: {
    by: choice('<what>', 'one line for each of these', {
      choices: ['day', 'model', 'source', 'session', 'job'],
      fallback: 'day',
    }),
    days: wholeNumber('<count>', 'how many days, today included (default: 30)', { min: 1, max: 3_660, fallback: 30 }),
  },
  examples: ['usage', 'usage --by model --days 7', 'usage --by job'],
  operation: 'usage',
  show: async () => (await import('../activity/usage-report.ts')).usageLines,
  nothing: 'No model was called in this time.',
});

function last(max: number) {
  return wholeNumber('<count>', `how many entries to show (default: ${SHOWN})`, { min: 1, max, fallback: SHOWN });
}

/** Says that it is done. For programs: the id. */
function done(line: string) {
  return (_answer: unknown, { given }: { readonly given: { readonly id: string } }): Shown => ({
    facts: { id: given.id },
    lines: [line],
  });
}
