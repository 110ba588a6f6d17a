import { guardsIn, type Guard } from '../guard.ts';

const SUBAGENTS = 'e2e/subagents.test.ts';
const HEARTBEAT = 'e2e/heartbeat.test.ts';

/** What the assistant does by itself, and what those that it gives tasks to may do. */
export const OWN_WORK_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/subagents/task.ts',
    [SUBAGENTS],
    [
      {
        name: 'subagent-withheld',
        holds: 'A subagent speaks to nobody, gives no tasks and schedules nothing.',
        find: 'if (WITHHELD.has(tool)) return',
        replace: 'if (false) return',
      },
      {
        name: 'subagent-tools',
        holds: 'A subagent has only the tools that its task names.',
        find: 'if (task.tools !== null && !matches(task.tools, tool)) return',
        replace: 'if (false) return',
      },
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
    'agent/subagents/outcome.ts',
    [SUBAGENTS],
    [
      {
        name: 'subagent-status',
        holds: 'A subagent that ran out of iterations is never told as completed.',
        find: "if (iterations >= maxIterations) return 'ran out of iterations';",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'agent/subagents/desk.ts',
    [SUBAGENTS],
    [
      {
        name: 'subagent-taint-up',
        holds: 'A result in which strangers had a part is marked where it is read.',
        find: '...(outcome.untrusted ? { untrusted: true } : {}),',
        replace: '',
      },
      {
        name: 'subagent-circle',
        holds: 'Results that lead to ever more tasks come to an end.',
        find: 'if (depthOf(asked) >= DEEPEST) {',
        replace: 'if (false) {',
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
    'agent/budget.ts',
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
    'agent/given-texts.ts',
    ['agent/given-texts.test.ts'],
    [
      {
        name: 'given-task',
        holds:
          'An address in a task or a result that a model wrote after it read strangers’ words is not one that a person gave.',
        find: 'strangers && (byModels.has(entry.turn) ||',
        replace: 'strangers && (',
      },
      {
        name: 'given-result',
        holds: 'Nor is one in the result of a subagent that read strangers’ words and private ones.',
        find: 'wasClean && !ANSWERED_BY_MODELS.has(entry.name)',
        replace: 'wasClean',
      },
    ],
  ),
  ...guardsIn(
    'tools/message.ts',
    [HEARTBEAT],
    [
      {
        name: 'heartbeat-message',
        holds: 'A heartbeat does not write to the owner past the decision whether they should hear of it.',
        find: "if (context.origin === 'heartbeat' && !isElsewhere(chat, context)) {",
        replace: 'if (false) {',
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
