import { oneLine, z, type App } from '../../core/api.ts';
import { defineTool, type Tool } from '../../core/api-tools.ts';
import { spawn } from './supervisor.ts';

const LONGEST_TASK = 20_000;
const LONGEST_LABEL = 60;

const parameters = z.object({
  task: z
    .string()
    .trim()
    .min(1)
    .max(LONGEST_TASK)
    .describe('The whole task, with every fact that session does not give the subagent.'),
  label: z.string().optional().describe('Short name for people, e.g. compare trains. Default: the beginning of task.'),
  wait: z
    .boolean()
    .optional()
    .describe('True waits for the result. Default: false; always true in a turn that a job or the heartbeat started.'),
  session: z
    .string()
    .regex(/^[A-Za-z][\w-]{0,39}$/u, { error: 'expected temp, inherit, or a name of letters, digits, - and _' })
    .optional()
    .describe(
      'What the subagent knows: temp nothing; inherit a copy of this conversation; any other name, e.g. librarian, the earlier tasks of that name here. Default: temp.',
    ),
  tools: z
    .array(z.string())
    .max(100)
    .optional()
    .describe('The only tools that it gets, e.g. ["read_file", "web_*"]. Default: all that it may use.'),
  model: z.string().optional().describe('Another model for it, e.g. openai/gpt-5-mini. Default: the configured model.'),
});

/** Gives a task to a subagent, which has no more rights than the turn that asks. */
export function spawnTool(app: App): Tool {
  return defineTool({
    name: 'spawn',
    withheldFrom: ['subagent', 'visit'],
    source: 'what a subagent read',
    description:
      'Give a task to a subagent, which works on it by itself with your tools, for at most 15 minutes; its result comes in a new turn of yours. Use it for long work that need not hold up this conversation. It cannot message or ask people, schedule or spawn.',
    parameters,
    role: 'owner',
    // Its call names the task: a second start after a crash finds the first one's.
    effect: 'idempotent',
    waits: true,
    plan: ({ task, label, wait, session, tools, model }, context) => {
      const name = oneLine(label ?? task, LONGEST_LABEL);
      const request = {
        task,
        label: name.replaceAll('"', "'"),
        wait: wait ?? false,
        session: session ?? 'temp',
        tools: tools ?? null,
        model: model ?? null,
      };
      return {
        run: (signal) => spawn(request, { ...context, signal }, app),
        about: [{ kind: 'task', target: name }],
      };
    },
  });
}
