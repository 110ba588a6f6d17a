import type { Command } from './command.ts';

/**
 * /approve and /deny in the list of commands. They act where messages are accepted (journal/approval-answers.ts), also
 * while the turn that asked is waiting; nothing of them ever comes this far.
 */
export const answerCommands: readonly Command[] = [
  answer('approve', 'allow what I asked about: `/approve CODE`; with `always` behind it also from now on'),
  answer('deny', 'the opposite: `/deny CODE`, with a reason for me if you like'),
];

function answer(name: string, description: string): Command {
  return {
    name,
    description,
    role: 'owner',
    priority: true,
    interrupts: false,
    run: async () => 'There is no open question here.',
  };
}
