import type { Command } from './command.ts';

/**
 * /stop, /approve and /deny in the list of commands. They act where messages are accepted (journal/stop.ts,
 * agent/questions/answers.ts), also while a turn is at work; nothing of them ever comes this far.
 */
export const answerCommands: readonly Command[] = [
  answer('stop', 'stop what is running here and drop what waits', 'guest'),
  answer('approve', 'allow what I asked about: `/approve CODE`; with `always` behind it also from now on'),
  answer('deny', 'the opposite: `/deny CODE`, with a reason for me if you like'),
];

function answer(name: string, description: string, role: Command['role'] = 'owner'): Command {
  return {
    name,
    description,
    role,
    priority: true,
    interrupts: false,
    run: async () => 'There is nothing here to do that to.',
  };
}
