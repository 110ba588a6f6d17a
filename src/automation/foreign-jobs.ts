import * as z from 'zod';
import { durationText } from './durations.ts';
import { idFrom } from './job.ts';

const id = z.union([z.string(), z.number()]).transform(String);
const absent = <Schema extends z.ZodType>(schema: Schema) => schema.nullish().transform((value) => value ?? undefined);

/** A job as nanobot and OpenClaw write it into their `cron/jobs.json`. Fields that mean nothing here are left out. */
const foreignJob = z.object({
  id,
  name: absent(z.string()),
  enabled: absent(z.boolean()),
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
    deliver: absent(z.boolean()),
    channel: absent(z.string()),
    to: absent(id),
  }),
  sessionTarget: absent(z.string()),
  delivery: absent(z.object({ mode: absent(z.string()), channel: absent(z.string()), to: absent(id) })),
});
const foreignFile = z.object({ jobs: z.array(foreignJob).min(1) });

type ForeignJob = z.output<typeof foreignJob>;

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
const NO_SCHEDULE: Obstacle = {
  why: 'has a schedule that can’t be used here',
  change: () => 'Change its "schedule", or remove the job',
};

/**
 * Converts nanobot's or OpenClaw's list of jobs to this program's. Undefined for every other content. What has no
 * counterpart is a problem: one sentence that says what to change in the file.
 */
export function fromForeignJobs(
  data: unknown,
): { readonly jobs: readonly object[] } | { readonly problem: string } | undefined {
  const parsed = foreignFile.safeParse(data);
  if (!parsed.success) return undefined;
  const taken = new Set<string>();
  const jobs: object[] = [];
  for (const job of parsed.data.jobs) {
    // nanobot keeps its own housekeeping in the list; those jobs have nothing to say.
    if (job.payload.kind === 'system_event' && textOf(job) === '') continue;
    const [chat, when] = [chatOf(job), whenOf(job)];
    if (isSilent(job)) return { problem: problemWith(job, SILENT) };
    if (chat === null) return { problem: problemWith(job, NO_CHAT) };
    if (when === null) return { problem: problemWith(job, NO_SCHEDULE) };
    const own = idFrom(nameOf(job), taken);
    taken.add(own);
    const session = job.sessionTarget === 'main' ? 'main' : 'own';
    jobs.push({ id: own, kind: 'agent', text: textOf(job), ...when, chat, session, enabled: job.enabled ?? true });
  }
  return { jobs };
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

function problemWith(job: ForeignJob, { why, change }: Obstacle): string {
  const program = programOf(job);
  const next = change(program === 'nanobot' ? '"payload"' : '"delivery"');
  return `the job ${JSON.stringify(nameOf(job))} of ${program} ${why}. ${next}, and save the file to import its jobs`;
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
