import * as z from 'zod';
import { asFlag, parseChat } from '../../core/api.ts';
import { durationText } from '../../core/api-time.ts';
import { idFrom, jobSchema, LONGEST_TEXT, MOST_JOBS, problemOf, type Job } from './job.ts';

const id = z.union([z.string(), z.number()]).transform(String);
const absent = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().transform((value) => value ?? undefined);
const flag = absent(z.preprocess((value) => asFlag(value) ?? value, z.boolean().nullish()));

/** A job as nanobot and OpenClaw write it into their `cron/jobs.json`. Fields that mean nothing here are left out. */
const foreignJob = z.object({
  id,
  name: absent(z.string()),
  enabled: flag,
  createdAtMs: absent(z.number()),
  schedule: z.object({
    kind: z.enum(['at', 'every', 'cron']),
    at: absent(z.string()),
    atMs: absent(z.number()),
    everyMs: absent(z.number()),
    anchorMs: absent(z.number()),
    expr: absent(z.string()),
    tz: absent(z.string()),
  }),
  payload: z.object({
    kind: z.string(),
    message: absent(z.string()),
    text: absent(z.string()),
    deliver: flag,
    channel: absent(z.string()),
    to: absent(id),
  }),
  sessionTarget: absent(z.string()),
  delivery: absent(z.object({ mode: absent(z.string()), channel: absent(z.string()), to: absent(id) })),
});
/** What tells the jobs of other programs from our own, also when a field of one can't be read. */
const foreignLooks = z.object({ schedule: z.looseObject({}), payload: z.looseObject({}) });
const anyFile = z.array(z.unknown()).or(z.object({ jobs: z.array(z.unknown()) }).transform(({ jobs }) => jobs));
const named = z.object({ name: z.string().trim().min(1) }).or(z.object({ id }).transform((job) => ({ name: job.id })));

type ForeignJob = z.output<typeof foreignJob>;

/** Most jobs that a sentence names after the first. */
const MOST_NAMED = 5;

/** What keeps a job from being imported, and the change that helps. `place`: the field that says where its result goes. */
interface Obstacle {
  readonly why: string;
  readonly change: (place: string) => string;
}

const SILENT: Obstacle = {
  why: 'sends its result to nobody, but here every job sends it to a chat',
  change: (place) => `Remove the job, or let it deliver to the "channel" and "to" of its ${place}`,
};
const NO_CHAT: Obstacle = {
  why: 'names no chat',
  change: (place) => `Give its ${place} a "channel" and "to", such as "telegram" and "123456789"`,
};
function noChannel(name: string): Obstacle {
  return {
    why: `writes to ${JSON.stringify(name)}, which isn't a channel here`,
    change: (place) =>
      `Set that channel up (\`channels\` in the configuration), or change the "channel" and "to" of its ${place}`,
  };
}
const NO_TEXT: Obstacle = {
  why: 'has no text',
  change: () => 'Give its "payload" a "message"',
};
const LONG_TEXT: Obstacle = {
  why: `has a text of more than ${LONGEST_TEXT} characters`,
  change: () => 'Shorten it',
};
const NO_SCHEDULE: Obstacle = {
  why: 'has a schedule that can’t be used here',
  change: () => 'Change its "schedule", or remove the job',
};
const ONE_TOO_MANY: Obstacle = {
  why: `is one too many, because there can be ${MOST_JOBS}`,
  change: () => 'Remove jobs that you don’t need',
};

function pastJob(at: string): Obstacle {
  return {
    why: `was due on ${at.slice(0, 10)} and isn’t needed any more`,
    change: () => 'Remove the job, or change its "schedule"',
  };
}

/** How a file is read. */
export interface ReadAs {
  /** Time zone of jobs without one, if the file has none either. */
  readonly zone: string;
  /** Milliseconds since 1970; another program's job whose only time is before is not imported. */
  readonly now: number;
  /** Whether another program's job can write to a channel of this name. @default to all */
  readonly hasChannel?: (name: string) => boolean;
}

/** Jobs that can be imported. If others can't, `problem` names them and says what to change. */
export interface ForeignJobs {
  readonly jobs: readonly Job[];
  readonly problem: string | null;
}

/**
 * Converts nanobot's or OpenClaw's list of jobs to this program's; jobs of this program in it stay as they are. Undefined for
 * a file without a job of those programs.
 */
export function fromForeignJobs(data: unknown, readAs: ReadAs): ForeignJobs | undefined {
  const all = anyFile.safeParse(data).data ?? [];
  if (!all.some((job) => foreignLooks.safeParse(job).success)) return undefined;
  const taken = new Set<string>();
  const own = all.map((written) => {
    const job = jobSchema.safeParse(written).data;
    if (job === undefined || taken.has(job.id) || problemOf(job, readAs.zone) !== null) return undefined;
    taken.add(job.id);
    return job;
  });
  const jobs: Job[] = [];
  const left: { readonly name: string; readonly sentence: string }[] = [];
  for (const [n, written] of all.entries()) {
    const read = foreignJob.safeParse(written);
    // nanobot keeps its own housekeeping in the list; those jobs have nothing to say.
    if (read.data?.payload.kind === 'system_event' && textOf(read.data) === '') continue;
    const job = own[n] ?? (read.success ? converted(read.data, { ...readAs, taken }) : unreadable(read.error));
    const result = jobs.length === MOST_JOBS && !('why' in job) ? ONE_TOO_MANY : job;
    if ('why' in result) {
      const name = JSON.stringify(named.safeParse(written).data?.name ?? `number ${n + 1}`);
      left.push({ name, sentence: sentenceOf(result, name, read.data) });
    } else {
      taken.add(result.id);
      jobs.push(result);
    }
  }
  return { jobs, problem: problemOfAll(left, jobs.length) };
}

function problemOfAll(
  [first, ...others]: readonly { readonly name: string; readonly sentence: string }[],
  imported: number,
): string | null {
  if (first === undefined) return null;
  const names = others.slice(0, MOST_NAMED).map(({ name }) => name);
  const more = others.length > names.length ? ` and ${others.length - names.length} more` : '';
  const too = others.length === 0 ? '' : `. Not imported either: ${names.join(', ')}${more}`;
  return `${first.sentence}, and save the file to import ${imported === 0 ? 'its jobs' : 'the rest'}${too}`;
}

function converted(
  job: ForeignJob,
  { taken, zone, now, hasChannel }: ReadAs & { readonly taken: ReadonlySet<string> },
): Job | Obstacle {
  const [text, chat, when] = [textOf(job).trim(), chatOf(job), whenOf(job)];
  if (text === '') return NO_TEXT;
  if (text.length > LONGEST_TEXT) return LONG_TEXT;
  if (isSilent(job)) return SILENT;
  const place = chat === null ? undefined : parseChat(chat);
  if (chat === null || place === undefined) return NO_CHAT;
  if (hasChannel?.(place.channel) === false) return noChannel(place.channel);
  if (when === null) return NO_SCHEDULE;
  const session = job.sessionTarget === 'main' ? 'main' : 'own';
  const fields = { id: idFrom(nameOf(job), taken), kind: 'agent', text, ...when, chat, session };
  const own = jobSchema.safeParse({ ...fields, enabled: job.enabled ?? true }).data;
  if (own === undefined || problemOf(own, zone) !== null) return NO_SCHEDULE;
  return own.at !== undefined && Date.parse(own.at) < now ? pastJob(own.at) : own;
}

function unreadable({ issues }: z.ZodError): Obstacle {
  const field = issues[0]?.path.map(String).join('.') ?? '';
  const what = field === '' ? 'can’t be read' : `has a ${JSON.stringify(field)} that can’t be read`;
  return { why: what, change: () => 'Correct it, or remove the job' };
}

function sentenceOf({ why, change }: Obstacle, name: string, job: ForeignJob | undefined): string {
  const program = job === undefined ? null : programOf(job);
  const next = change(program === 'OpenClaw' ? '"delivery"' : '"payload"');
  return `the job ${name}${program === null ? '' : ` of ${program}`} ${why}. ${next}`;
}

function programOf({ payload }: ForeignJob): 'nanobot' | 'OpenClaw' {
  return payload.kind.includes('_') ? 'nanobot' : 'OpenClaw';
}

function nameOf({ id: given, name = '' }: ForeignJob): string {
  return name.trim() === '' ? given : name;
}

function textOf({ payload }: ForeignJob): string {
  return payload.message ?? payload.text ?? '';
}

/** The result is thrown away there. Nothing does that here, so the job may not turn into one that writes to people. */
function isSilent(job: ForeignJob): boolean {
  const { payload, delivery } = job;
  if (programOf(job) === 'nanobot') return payload.deliver !== true;
  return delivery === undefined ? payload.deliver === false : delivery.mode === 'none';
}

/** `at`, `every` or `cron` as this program has them; null when it has no such schedule. */
function whenOf(job: ForeignJob): object | null {
  const { schedule, createdAtMs = 0 } = job;
  const { kind, at, atMs, everyMs, anchorMs = createdAtMs, expr, tz } = schedule;
  const zone = tz === undefined ? {} : { zone: tz };
  switch (kind) {
    case 'at': {
      const moment = atMs ?? Date.parse(at === undefined || hasOffset(at) ? (at ?? '') : `${at}Z`);
      return isTime(moment) ? { at: new Date(moment).toISOString(), ...zone } : null;
    }
    case 'every':
      return everyMs !== undefined && everyMs > 0 && isTime(anchorMs)
        ? { every: durationText(everyMs), from: new Date(anchorMs).toISOString() }
        : null;
    case 'cron': {
      const fields = expr?.trim().split(/\s+/u) ?? [];
      // Jobs have no seconds here. They are OpenClaw's first field and nanobot's last.
      const second = programOf(job) === 'nanobot' ? 5 : 0;
      const five = fields.length === 6 && fields[second] === '0' ? fields.toSpliced(second, 1) : fields;
      return five.length === 5 ? { cron: five.join(' '), ...zone } : null;
    }
  }
}

/** Where the words of a job go, as `channel:chat`; null when the job doesn't say. */
function chatOf({ payload, delivery }: ForeignJob): string | null {
  const channel = delivery?.channel ?? payload.channel;
  const to = delivery?.to ?? payload.to;
  if (channel === 'cli') return 'terminal:main';
  if (channel === undefined || channel === 'last' || to === undefined || delivery?.mode === 'webhook') return null;
  const prefix = new RegExp(`^(?:${channel.replace(/\W/gu, '')}|user|channel|chat|group):`, 'u');
  return `${channel}:${to.replace(prefix, '').replace(prefix, '').replace(':topic:', ':')}`;
}

/** A bare time is meant in UTC there. A date alone is read as UTC anyway. */
function hasOffset(text: string): boolean {
  return !text.includes('T') || /(?:Z|[+-]\d{2}:?\d{2})$/iu.test(text.trim());
}

function isTime(ms: number): boolean {
  return Number.isFinite(ms) && Math.abs(ms) <= 8.64e15;
}
