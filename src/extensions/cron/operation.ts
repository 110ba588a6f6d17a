import { operation, z } from '../../core/api.ts';

const READING: ReadonlySet<string> = new Set(['list', 'show']);

/** What is done, and with which job. */
export const cronParams = z.object({
  action: z.enum(['add', 'replace', 'list', 'show', 'remove', 'enable', 'disable', 'run']).describe('What is done.'),
  id: z.string().max(64).exactOptional().describe('Id of the job, for every action but `add` and `list`.'),
  code: z
    .string()
    .max(64)
    .exactOptional()
    .describe('To enable a job that no one agreed to: its `code`, which stands for what the job is now.'),
  job: z
    .object({
      when: z.string().max(400).describe('When it runs: `in 20m`, `tomorrow at 9`, `every 2h` or `0 9 * * 1-5`.'),
      text: z.string().max(20_000).describe('The message, task or comma command.'),
      kind: z
        .enum(['message', 'agent', 'command'])
        .describe('`message`: the text is sent; `agent`: it is a task; `command`: it is a comma command.'),
      id: z.string().max(64).exactOptional().describe('Its id; without it, one is made from the text.'),
      zone: z.string().max(100).exactOptional().describe('Time zone, such as `Europe/Vienna`.'),
      chat: z
        .string()
        .max(400)
        .exactOptional()
        .describe('Where it writes, such as `telegram:123456789`; without it, where the owner last wrote.'),
      session: z
        .enum(['own', 'main'])
        .exactOptional()
        .describe('`own`: a conversation of its own; `main`: that of the chat.'),
    })
    .exactOptional()
    .describe('The new job, for `add`; what job `id` becomes, for `replace`.'),
});

/** A job as programs see it. Times are ISO 8601 in the person's zone, those of a new job in the zone that was given for it. */
const jobFacts = z.object({
  id: z.string(),
  kind: z.enum(['message', 'agent', 'command']),
  text: z.string(),
  schedule: z.string(),
  /** The schedule as a new job may be given it. */
  when: z.string(),
  chat: z.string(),
  session: z.enum(['own', 'main']),
  state: z.enum(['active', 'off', 'waiting']),
  by: z.string().nullable(),
  next: z.array(z.string()).readonly(),
  /** Hash of its definition; `enable` needs it for a job that no one has agreed to. */
  code: z.string(),
});
export type JobFacts = Readonly<z.output<typeof jobFacts>>;

/** A run of a job: how its turn ended, and how its messages were delivered. */
const runFact = z.object({
  due: z.string(),
  lastDue: z.string(),
  /** How many due times in a row this stands for, all missed or skipped; `lastDue` is the last of them. */
  count: z.number(),
  execution: z.enum(['waiting', 'running', 'ok', 'silent', 'failed', 'stopped', 'missed', 'skipped']),
  delivery: z.enum(['none', 'waiting', 'delivered', 'uncertain', 'failed']),
  /** Why it did not run, or sent nothing. */
  reason: z.string().nullable(),
  lateMs: z.number(),
  turnId: z.string().nullable(),
});
export type RunFact = Readonly<z.output<typeof runFact>>;

const cronAnswer = z.object({
  /** Markdown for people and models. */
  text: z.string(),
  jobs: z.array(jobFacts).readonly(),
  runs: z.array(runFact).readonly(),
});
export type CronAnswer = Readonly<z.output<typeof cronAnswer>>;

/** What programs, the page and the command line ask of the schedule. */
export const cronOperation = operation({
  name: 'cron',
  about:
    'Lists, shows, adds, replaces, removes, switches or runs scheduled jobs; an error code that begins with `cron-` says why it cannot.',
  changes: 'schedule',
  input: cronParams,
  output: cronAnswer,
  audit: ({ action, id = '' }) => (READING.has(action) ? null : `cron ${action} ${id}`.trim()),
  run: async (app, params) => (await import('./schedule-service.ts')).answerOwner(app, params),
});

declare module '../../core/api.ts' {
  interface ExtensionOperations {
    readonly cron: typeof cronOperation;
  }
}
