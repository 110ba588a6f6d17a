import { guardsIn, type Guard } from '../guard.ts';

const SUBAGENTS = 'e2e/subagents.test.ts';

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
        find: 'metadata: { subagent: task, taint,',
        replace: 'metadata: { subagent: task,',
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
