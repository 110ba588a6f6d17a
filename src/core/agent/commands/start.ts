import type { App } from '../../app.ts';
import type { Role } from '../../bus/messages.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import type { ChatCommand } from './command.ts';

/** What to try first, by the tool that it needs; null: none. */
const IDEAS: readonly (readonly [string | null, string])[] = [
  ['list_dir', 'What is in my workspace?'],
  ['cron', 'Remind me in 10 minutes to stretch.'],
  ['memory_write', 'Remember that I like short answers.'],
  ['web_search', 'What is new in the world of TypeScript?'],
  ['web_fetch', 'Read https://example.com and tell me what it says.'],
  [null, 'Explain to me how tides work, in three sentences.'],
];
const MOST_IDEAS = 3;

/** What each role reads about the assistant. */
const ABOUT: Readonly<Record<Role, string>> = {
  owner:
    'I am your assistant. I run on a machine of yours, remember what you tell me, and work with files, commands, the web and a schedule.',
  trusted: 'I am a personal assistant, and my owner trusts you: I answer you and work on tasks for you.',
  guest:
    'I am somebody’s personal assistant. You are my guest here: I answer your questions, but I do not work on my owner’s things.',
};

/** The greeting. Telegram sends `/start` when a person opens the chat. */
export const startCommand = ({ tools }: App): ChatCommand => ({
  name: 'start',
  description: 'a greeting: who I am, and what to try',
  role: 'guest',
  priority: true,
  interrupts: false,
  repeatable: true,
  run: async ({ message: { role } }) => {
    const usable = new Set(tools.specs(role).map(({ name }) => name));
    const ideas = IDEAS.filter(([tool]) => tool === null || usable.has(tool)).slice(0, MOST_IDEAS);
    return [
      `Hello! ${ABOUT[role]}`,
      'Write to me as you would to a person. You could try:',
      ideas.map(([, idea]) => `- ${idea}`).join('\n'),
      '/help lists the commands.',
    ].join('\n\n');
  },
});

/**
 * `/setup` where it cannot work: keys and tokens do not belong into a chat. A conversation in a terminal starts the
 * set-up itself and does not come here.
 */
export const setupCommand: ChatCommand = {
  name: 'setup',
  description: 'set up model, key and chat platforms; in a terminal only',
  role: 'owner',
  priority: true,
  interrupts: false,
  repeatable: true,
  run: async () =>
    `/setup works in a terminal, since keys and tokens do not belong into a chat. On the machine where I run: \`${assistantCommand('init')}\``,
};
