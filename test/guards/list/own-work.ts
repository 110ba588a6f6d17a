import { guardsIn, type Guard } from '../guard.ts';

const SUBAGENTS = 'e2e/subagents.test.ts';
const RUNS = 'library/run-options.test.ts';

/** What the assistant does by itself, and what those that it gives tasks to may do. */
export const OWN_WORK_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/subagents/task.ts',
    [SUBAGENTS],
    [
      {
        name: 'subagent-colleague',
        holds: 'A colleague is one of the session that asks, and no one else reads what it knows.',
        find: "sessionKeyOf({ channel: 'subagent', chatId: session, threadId: name ?? callId })",
        replace: "sessionKeyOf({ channel: 'subagent', chatId: 'all', threadId: name ?? callId })",
      },
      {
        name: 'subagent-taint-down',
        holds: 'A subagent begins with the marks of the turn that asked.',
        find: '      taint,\n      ...(model',
        replace: '      ...(model',
      },
    ],
  ),
  ...guardsIn(
    'agent/withheld-tools.ts',
    [RUNS],
    [
      {
        name: 'run-tools',
        holds: 'A turn uses no tool that its run was not given, and neither do its subagents.',
        find: '  if (outsideRun !== null) return outsideRun;\n',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'app/agent/commands.ts',
    [RUNS],
    [
      {
        name: 'run-tools-by-hand',
        holds: 'A text that calls a tool by hand calls none that its run was not given.',
        find: '    withheld: (tool) => withheldFromRun(message, tool),\n',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'journal/stop.ts',
    [SUBAGENTS],
    [
      {
        name: 'subagent-stop',
        holds: 'A /stop ends the subagents that work in the background.',
        find: 'WHERE ?3 AND child.state',
        replace: 'WHERE ?3 = 2 AND child.state',
      },
    ],
  ),
];
