import type { ChatCommand } from './command.ts';

/**
 * /stop, /approve and /deny, for the list of commands. They act when their message is accepted (journal/stop.ts,
 * agent/questions/answers.ts), even while a turn is running, so `run` is never called for a real one.
 */
export const answerCommands: readonly ChatCommand[] = [
  answer('stop', 'stop what I am doing here and drop waiting messages', 'guest'),
  answer('approve', 'allow what I asked about: `/approve CODE`, or `/approve CODE always` to allow it in future too'),
  answer('deny', 'refuse what I asked about: `/deny CODE`, with a reason if you like'),
];

function answer(name: string, description: string, role: ChatCommand['role'] = 'owner'): ChatCommand {
  return {
    name,
    description,
    role,
    priority: true,
    interrupts: false,
    run: async () => 'There is nothing to answer or stop here.',
  };
}
