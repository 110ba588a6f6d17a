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
        holds: 'A colleague is one of the session that asks, and nobody else reads what it knows.',
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
    'journal/subagents.ts',
    [SUBAGENTS],
    [
      {
        name: 'subagent-most',
        holds: 'No more subagents work at once than the configuration says.',
        find: "if (this.open().length >= most) return 'full';",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'agent/context/budget.ts',
    [SUBAGENTS],
    [
      {
        name: 'subagent-budget',
        holds: 'What a subagent uses counts into the budget of the turn that asked.',
        find: 'task === null ? this.spent(spender) : this.#spentBy(task)',
        replace: 'this.spent(spender)',
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
  ...guardsIn(
    'automation/heartbeat.ts',
    ['automation/heartbeat.test.ts'],
    [
      {
        name: 'heartbeat-budget',
        holds: 'No model is asked what is due when the budget of the day is used up.',
        find: "if (!(await gates.budgetLeft(at))) return this.#skip('budget');",
        replace: '',
      },
      {
        name: 'heartbeat-floor',
        holds: 'A process that is restarted again and again does not ask more often.',
        find: 'const rest = last === undefined ? 0 : last.at + interval - clock.now();',
        replace: 'const rest = 0;',
      },
    ],
  ),
];
