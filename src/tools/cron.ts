import * as z from 'zod';
import { visible } from '../security/visible.ts';
import { oneLine } from '../util/text.ts';
import { errorResult } from './result.ts';
import { defineTool, type Tool, type ToolContext } from './tool.ts';

/** Who calls, as far as the schedule has to know. */
export type CronToolCaller = Pick<ToolContext, 'messageId' | 'role' | 'turnId'>;

interface Answer {
  readonly text: string;
}

/** What the schedule does for the model. Throws one sentence when it can not be done. */
export interface CronToolDesk {
  readonly add: (by: CronToolCaller, job: CronToolJob) => Promise<Answer>;
  readonly list: (by: CronToolCaller) => Promise<Answer>;
  readonly one: (by: CronToolCaller, action: CronJobAction, id: string) => Promise<Answer>;
  /** The run that this turn carries out has nothing to tell; false when it carries out none. */
  readonly silence: (turnId: string, reason: string) => Promise<boolean>;
}

export interface CronToolJob {
  readonly when: string;
  readonly text: string;
  readonly kind: 'message' | 'agent' | 'command';
  readonly zone?: string | undefined;
  readonly chat?: string | undefined;
}

export type CronJobAction = 'show' | 'remove' | 'enable' | 'disable' | 'run';

const parameters = z.object({
  action: z.enum(['add', 'list', 'show', 'remove', 'enable', 'disable', 'run', 'silent']),
  job: z.string().optional().describe('id'),
  when: z.string().optional().describe('in 20m; 2027-03-01T09:00; every 2h; 0 9 * * 1'),
  text: z.string().optional().describe('what to say or do'),
  kind: z.enum(['message', 'agent', 'command']).optional().describe('agent: a task for you'),
  zone: z.string().optional().describe('IANA'),
  chat: z.string().optional().describe('another, channel:chat'),
});
type Params = z.infer<typeof parameters>;

const CHANGES: ReadonlySet<Params['action']> = new Set(['add', 'remove', 'enable', 'disable', 'run']);

/** Reminders and repeated tasks. */
export function cronTool(desk: CronToolDesk): Tool {
  return defineTool({
    name: 'cron',
    description: 'Reminders and scheduled tasks. Say the local time it answers.',
    parameters,
    effect: 'effect',
    shows: ({ action, job }) =>
      action === 'list' || action === 'show' ? visible(`scheduled jobs${job === undefined ? '' : `: ${job}`}`) : null,
    decide: ({ action, job, kind, chat }, { origin, role }) => {
      if (origin !== 'user' && origin !== 'api' && CHANGES.has(action)) {
        return { decision: 'deny', reason: 'what runs by itself can not change what is scheduled.' };
      }
      if (role !== 'owner' && (kind === 'command' || chat !== undefined)) {
        return { decision: 'deny', reason: 'only the owner may schedule commands, or something for another chat.' };
      }
      if (action === 'enable' && job === undefined) return { decision: 'deny', reason: 'job is missing.' };
      return { decision: 'allow' };
    },
    action: ({ action, when, text, kind, chat }) =>
      action === 'add' || action === 'enable' || action === 'run'
        ? {
            action: { kind: 'lasting-write', target: 'cron' },
            title: action === 'add' ? 'Schedule something' : `Let a scheduled job run`,
            detail: [`${kind ?? 'message'}, ${when ?? ''}${chat === undefined ? '' : `, to ${chat}`}`, text ?? ''].join(
              '\n',
            ),
          }
        : null,
    execute: async (params, context) => {
      const { action, text } = params;
      if (action === 'silent') return await silent(desk, text ?? 'nothing to tell', context);
      const answer = await answerTo(desk, params, context);
      if (answer === null) {
        const missing = action === 'add' ? 'add needs when and text.' : `${action} needs job, the id of one.`;
        return errorResult('cron', missing);
      }
      const title = `cron ${action}${params.job === undefined ? '' : ` ${oneLine(params.job, 64)}`}`;
      return { title, output: answer.text, metadata: {} };
    },
  });
}

async function answerTo(
  desk: CronToolDesk,
  { action, job, when, text, kind, zone, chat }: Params,
  by: CronToolCaller,
): Promise<Answer | null> {
  switch (action) {
    case 'add':
      if (when === undefined || text === undefined) return null;
      return await desk.add(by, { when, text, kind: kind ?? 'message', zone, chat });
    case 'list':
      return await desk.list(by);
    case 'silent':
      return null;
    default:
      return job === undefined ? null : await desk.one(by, action, job);
  }
}

async function silent(desk: CronToolDesk, reason: string, { turnId }: ToolContext): ReturnType<Tool['execute']> {
  if (!(await desk.silence(turnId, oneLine(reason, 400)))) {
    return errorResult('cron silent', 'This turn answers a person, so it can not be silent: just answer.');
  }
  return { title: 'silent', output: 'Nothing will be sent. End now, without another word.', metadata: {} };
}
