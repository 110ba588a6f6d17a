import { asking } from '../../core/cli/asking.ts';
import { command, type Group } from '../../core/cli/command.ts';
import { argument, choice, flag, optionalArgument, text, wholeNumber } from '../../core/cli/values.ts';
import { sessionKey } from '../data/found.ts';

// The commands about what it keeps: conversations, the memory, the people, the schedule, what was allowed for good.

const json = flag('as JSON');

const session = argument('from the list, e.g. telegram:123456789');

export const sessions: Group = {
  name: 'sessions',
  description: 'conversations: list, read, search, export, delete',
  commands: [
    command({
      name: 'list',
      description: 'list the conversations, the latest first',
      isDefault: true,
      options: { last: wholeNumber('<count>', 'how many (default: 30)', { min: 1, max: 100_000, fallback: 30 }), json },
      examples: ['sessions', 'sessions list --last 100'],
      load: async () => (await import('../data/sessions.ts')).sessionsListCommand,
    }),
    command({
      name: 'show',
      description: 'show the end of a conversation: what was said, and which tools were called',
      arguments: { session },
      options: {
        last: wholeNumber('<count>', 'how many exchanges (default: 20)', { min: 1, max: 100_000, fallback: 20 }),
        json,
      },
      examples: ['sessions show telegram:123456789 --last 5'],
      load: async () => (await import('../data/sessions.ts')).sessionsShowCommand,
    }),
    asking({
      name: 'search',
      description: 'find what was said, in all conversations and in the memory',
      arguments: { text: argument('words, or a "phrase in quotes"') },
      options: {
        session: text('<session>', 'only in this conversation'),
        last: wholeNumber('<count>', 'how many results (default: 10)', { min: 1, max: 100, fallback: 10 }),
      },
      examples: ['sessions search "train to Graz"', 'sessions search dentist --session telegram:123456789'],
      operation: 'sessionsSearch',
      input: ({ text: words, last, session: name }) => ({
        text: words,
        count: last,
        ...(name === undefined ? {} : { session: sessionKey(name) }),
      }),
      show: async () => (await import('../data/found.ts')).foundLines,
      nothing: 'Nothing was found.',
    }),
    command({
      name: 'export',
      description: 'print a whole conversation; to keep it in a file, add > conversation.md',
      arguments: { session },
      options: {
        format: choice('<format>', 'md: Markdown to read; json: everything, for programs', {
          choices: ['md', 'json'],
          fallback: 'md',
        }),
      },
      examples: [
        'sessions export telegram:123456789 > conversation.md',
        'sessions export terminal:main --format json > conversation.json',
      ],
      load: async () => (await import('../data/sessions.ts')).sessionsExportCommand,
    }),
    command({
      name: 'delete',
      description: 'delete a conversation for good; the memory keeps what it learned from it',
      arguments: { session },
      options: { yes: flag('do not ask'), json },
      examples: ['sessions delete telegram:123456789'],
      load: async () => (await import('../data/sessions.ts')).sessionsDeleteCommand,
    }),
  ],
};

export const memory: Group = {
  name: 'memory',
  description: 'the long-term memory and its earlier versions',
  commands: [
    asking({
      name: 'show',
      description: 'show the memory, or an earlier version of it',
      isDefault: true,
      arguments: { version: optionalArgument('its id, as `memory log` shows it') },
      examples: ['memory', 'memory show 20261121T051000000Z'],
      operation: 'memoryShow',
      input: ({ version }) => (version === undefined ? {} : { id: version }),
      show: async () => (await import('../data/memory.ts')).memoryLines,
    }),
    asking({
      name: 'facts',
      description: 'list the facts of the memory with the day on which each was told, and where',
      options: { past: flag('those that no longer hold, the last ones first') },
      examples: ['memory facts', 'memory facts --past'],
      operation: 'memoryFacts',
      show: async () => (await import('../data/memory.ts')).factLines,
    }),
    asking({
      name: 'search',
      description: 'find what MEMORY.md and HISTORY.md hold',
      arguments: { text: argument('words, or a "phrase in quotes"') },
      options: { last: wholeNumber('<count>', 'how many results (default: 10)', { min: 1, max: 100, fallback: 10 }) },
      examples: ['memory search dentist', 'memory search "train to Graz" --last 3'],
      operation: 'sessionsSearch',
      input: ({ text: words, last }) => ({ text: words, count: last, session: null }),
      show: async () => (await import('../data/found.ts')).foundLines,
      nothing: 'Nothing was found.',
    }),
    asking({
      name: 'log',
      description: 'list the earlier versions, newest first',
      operation: 'memoryLog',
      show: async () => (await import('../data/memory.ts')).versionLines,
      nothing: 'There are no earlier versions.',
    }),
    asking({
      name: 'restore',
      description: 'restore an earlier version; the current one is kept as a version',
      arguments: { version: argument('its id, as `memory log` shows it') },
      examples: ['memory restore 20261121T051000000Z'],
      operation: 'memoryRestore',
      input: ({ version }) => ({ id: version }),
      show: async () => (await import('../data/memory.ts')).restoredLines,
    }),
    command({
      name: 'forget',
      description: 'erase for good each line that has all of these words: memory, conversations, their copies',
      arguments: { words: argument('the words, e.g. "my number 4711"') },
      options: { yes: flag('do not ask'), json },
      examples: ['memory forget "the surprise party"'],
      load: async () => (await import('../data/memory.ts')).memoryForgetCommand,
    }),
  ],
};

export const pair: Group = {
  name: 'pair',
  description: 'people who may write because a pairing code was approved',
  commands: [
    asking({
      name: 'list',
      description: 'list the people who are paired, and the codes that wait for approval',
      isDefault: true,
      operation: 'pairList',
      show: async () => (await import('../data/pair.ts')).pairLines,
      nothing: 'No one is paired, and no request is waiting.',
    }),
    command({
      name: 'approve',
      description: 'approve the person who received this code',
      arguments: { code: argument('the code that the person told you, or CHANNEL:ID of a person who is paired') },
      options: {
        owner: flag('as an owner, who may do everything'),
        trusted: flag('as a trusted person (default)'),
        guest: flag('as a guest, who may use what tools.guest lists'),
        json,
      },
      examples: ['pair approve K7QM2XWP', 'pair approve K7QM2XWP --owner', 'pair approve telegram:123456789 --trusted'],
      load: async () => (await import('../data/pair.ts')).pairApproveCommand,
    }),
    asking({
      name: 'remove',
      description: 'remove a person: they may no longer write to the assistant',
      arguments: { person: argument('channel and id, such as telegram:123456789') },
      examples: ['pair remove telegram:123456789'],
      operation: 'pairRemove',
      show: async () => (await import('../data/pair.ts')).removedLines,
    }),
  ],
};

export const approvals: Group = {
  name: 'approvals',
  description: 'commands that an owner allowed for good, and open questions',
  commands: [
    asking({
      name: 'list',
      description: 'list the commands that run without a question, and the open questions',
      isDefault: true,
      operation: 'approvalsList',
      show: async () => (await import('../data/approvals.ts')).approvalsLines,
      nothing: 'No command is allowed for good, and no question is waiting.',
    }),
    asking({
      name: 'forget',
      description: 'withdraw a permission: the assistant asks again before it runs this command',
      arguments: { id: argument('its id, as the list shows it') },
      examples: ['approvals forget 01K9ZQ3V5T8N'],
      operation: 'approvalsForget',
      show: async () => {
        const { commandText } = await import('../data/approvals.ts');
        return (forgotten) => ({
          facts: { forgotten },
          lines: [`The assistant asks again before it runs ${commandText(forgotten)}.`],
        });
      },
    }),
  ],
};
