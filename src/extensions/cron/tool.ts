import * as z from 'zod';
import {
  type CallIds,
  type CallPerson,
  type DeclaredAction,
  defineTool,
  errorResult,
  escapeControlChars,
  type Executed,
  type Tool,
  type ToolContext,
} from '../../core/api-tools.ts';
import { oneLine } from '../../core/api.ts';

/** What the schedule has to know about the caller of the tool. */
export interface CronToolCaller extends CallIds, Pick<CallPerson, 'role'> {}

interface Answer {
  readonly text: string;
}

/** The schedule, as the tool `cron` uses it. Each function rejects with one sentence if it cannot do its work. */
export interface CronPort {
  readonly add: (by: CronToolCaller, job: CronToolJob) => Promise<Answer>;
  readonly list: (by: CronToolCaller) => Promise<Answer>;
  readonly one: (by: CronToolCaller, action: CronJobAction, id: string) => Promise<Answer>;
  /** A job as it is now; null: the caller has no job with this id. */
  readonly job: (by: CronToolCaller, id: string) => Promise<ScheduledJob | null>;
  /** Makes the run that this turn carries out send nothing; false: this turn does not carry out a run. */
  readonly silence: (turnId: string, reason: string) => Promise<boolean>;
}

export interface CronToolJob {
  readonly when: string;
  readonly text: string;
  readonly kind: 'message' | 'agent' | 'command';
  readonly zone?: string;
  readonly chat?: string;
}

interface ScheduledJob {
  readonly kind: string;
  readonly schedule: string;
  readonly chat: string;
  /** `own` or `main`: the conversation in which it runs. */
  readonly session: string;
  readonly text: string;
  /** Hash of all other fields. */
  readonly code: string;
}

export type CronJobAction = 'show' | 'remove' | 'enable' | 'disable' | 'run';

const parameters = z.object({
  action: z
    .enum(['add', 'list', 'show', 'remove', 'enable', 'disable', 'run', 'silent'])
    .describe(
      'What to do: add creates a job, list shows the jobs of the person (to the owner: all), show shows a job and its past runs, disable pauses it, enable resumes it, run starts it now, remove deletes it. silent, in a turn that a job started: nothing is sent.',
    ),
  job: z
    .string()
    .optional()
    .describe('Id from add or list, e.g. water-the-plants. Required for show, remove, enable, disable and run.'),
  when: z
    .string()
    .optional()
    .describe(
      'Required for add, in one of these forms: delay (in 20m), local time (2027-03-01T09:00, 18:30 or tomorrow at 9), five cron fields (0 9 * * 1-5), interval (every 2h; first run one interval from now).',
    ),
  text: z
    .string()
    .optional()
    .describe('Required for add: what to send, do or run. For silent: the reason, in a few words.'),
  kind: z
    .enum(['message', 'agent', 'command'])
    .optional()
    .describe(
      'For add: message sends text as it is, for reminders; agent gives you text as a task at that time, without this conversation, and sends your last text; command runs text, a tool call such as ,exec command="df -h" (owner only). Default: message.',
    ),
  zone: z
    .string()
    .optional()
    .describe(
      'For add: IANA time zone of this job alone, e.g. Europe/Vienna. Give it when the person means another than <context> shows. Default: that one; where none is known, a local time is refused.',
    ),
  chat: z
    .string()
    .optional()
    .describe('For add: another chat, named as in <context>, e.g. telegram:12345 (owner only). Default: this chat.'),
});
type Params = z.infer<typeof parameters>;

/** Characters of a task by which a job is known that has no id yet. */
const LONGEST_TARGET = 200;

/** Titles of the questions about a job that exists; these actions start jobs or stop what the owner counts on. */
const TITLES: Partial<Record<Params['action'], string>> = {
  run: 'Run a scheduled job now',
  enable: 'Let a paused job run again',
  disable: 'Pause a scheduled job',
  remove: 'Delete a scheduled job',
};
const CHANGES: ReadonlySet<Params['action']> = new Set(['add', 'remove', 'enable', 'disable', 'run']);

/** Creates the tool `cron`: reminders, and tasks that run once or repeatedly. */
export function cronTool(cron: CronPort): Tool {
  return defineTool({
    name: 'cron',
    fits: 'tiny',
    withheldFrom: ['subagent', 'visit'],
    looks: /"action"\s*:\s*"(?:list|show|silent)"/u,
    description:
      'Schedule reminders and tasks (jobs), once or repeatedly, and manage them. Use it for all that is to happen later. After add, tell the person the time and zone that the result names.',
    parameters,
    effect: 'effect',
    targets: ({ action, job, text }) =>
      CHANGES.has(action) ? [{ kind: 'job', target: job ?? oneLine(text ?? action, LONGEST_TARGET) }] : [],
    shows: ({ action, job }) =>
      action === 'list' || action === 'show'
        ? escapeControlChars(`scheduled jobs${job === undefined ? '' : `: ${job}`}`)
        : null,
    decide: ({ action, job, kind, chat }, { person: { origin, role } }) => {
      if (origin !== 'user' && origin !== 'api' && CHANGES.has(action)) {
        return {
          decision: 'deny',
          reason: 'a turn that the program started by itself cannot change what is scheduled.',
        };
      }
      if (role !== 'owner' && (kind === 'command' || chat !== undefined)) {
        return {
          decision: 'deny',
          reason: 'only the owner may schedule commands or schedule something for another chat.',
        };
      }
      if (action === 'enable' && job === undefined)
        return {
          decision: 'deny',
          reason: 'the action enable needs job, the id of a job; the action list shows them.',
        };
      return { decision: 'allow' };
    },
    // A yes is for the job as it was shown.
    binds: async ({ action, job }, context) =>
      TITLES[action] !== undefined && job !== undefined ? { job: (await cron.job(callerOf(context), job))?.code } : {},
    action: async (params, context) => await declared(cron, params, callerOf(context)),
    execute: async (params, context) => {
      const { action, text } = params;
      if (action === 'silent') return await silent(cron, text ?? 'nothing to tell', context);
      const answer = await answerTo(cron, params, callerOf(context));
      if (answer === null) {
        const missing =
          action === 'add'
            ? 'Nothing was done: the action add needs when and text.'
            : `Nothing was done: the action ${action} needs job, the id of a job; the action list shows them.`;
        return errorResult('cron', missing);
      }
      return { title: doneTitle(params), output: answer.text, metadata: {} };
    },
  });
}

/** Describes, for the question to the owner, the whole job that this call would add, start, pause or delete; null: none. */
async function declared(
  cron: CronPort,
  { action, job: id, when = '', text = '', kind = 'message', chat }: Params,
  by: CronToolCaller,
): Promise<DeclaredAction | null> {
  const writes = { kind: 'lasting-write', target: 'cron' } as const;
  if (action === 'add') {
    const facts = `${kind}, ${when}${chat === undefined ? '' : `, to ${chat}`}`;
    return { action: writes, title: 'Schedule something', detail: `${facts}\n${text}` };
  }
  const title = TITLES[action];
  if (title === undefined || id === undefined) return null;
  const job = await cron.job(by, id);
  if (job === null) return { action: writes, title, detail: `${id}: there is no such job` };
  const where = job.session === 'main' ? ', in the conversation of that chat' : '';
  return {
    action: writes,
    title,
    detail: `${id}: ${job.kind}, ${job.schedule}, to ${job.chat}${where}\n${job.text}`,
  };
}

async function answerTo(
  cron: CronPort,
  { action, job, when, text, kind, zone, chat }: Params,
  by: CronToolCaller,
): Promise<Answer | null> {
  switch (action) {
    case 'add':
      if (when === undefined || text === undefined) return null;
      return await cron.add(by, { when, text, kind: kind ?? 'message', zone, chat });
    case 'list':
      return await cron.list(by);
    case 'silent':
      return null;
    default:
      return job === undefined ? null : await cron.one(by, action, job);
  }
}

const DONE: Readonly<Record<CronJobAction, string>> = {
  show: 'looked at the job',
  remove: 'removed the job',
  enable: 'resumed the job',
  disable: 'paused the job',
  run: 'started the job',
};

/** What was done, for people and the model. */
function doneTitle({ action, job = '', text = '' }: Params): string {
  if (action === 'add') return `scheduled “${oneLine(text, 64)}”`;
  if (action === 'list' || action === 'silent') return 'listed the scheduled jobs';
  return `${DONE[action]} ${oneLine(job, 64)}`;
}

function callerOf({ call, person }: ToolContext): CronToolCaller {
  return { ...call, role: person.role };
}

async function silent(cron: CronPort, reason: string, { call }: ToolContext): Promise<Executed> {
  if (!(await cron.silence(call.turnId, oneLine(reason, 400)))) {
    return errorResult('cron silent', 'This turn answers a person, so it cannot be silent: answer.');
  }
  return { title: 'silent', output: 'Nothing will be sent.', silences: true };
}
