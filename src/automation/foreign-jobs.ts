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
    channel: absent(z.string()),
    to: absent(id),
  }),
  sessionTarget: absent(z.string()),
  delivery: absent(z.object({ mode: absent(z.string()), channel: absent(z.string()), to: absent(id) })),
});
const foreignFile = z.object({ jobs: z.array(foreignJob).min(1) });

type ForeignJob = z.output<typeof foreignJob>;

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
    const program = job.payload.kind.includes('_') ? 'nanobot' : 'OpenClaw';
    const chat = chatOf(job);
    const when = whenOf(job);
    const text = job.payload.message ?? job.payload.text ?? '';
    const title = JSON.stringify(job.name ?? job.id);
    const problem =
      chat === null
        ? `the job ${title} of ${program} names no chat: give it ${program === 'nanobot' ? '"payload"' : '"delivery"'} with "channel" and "to", such as "telegram" and "123456789", and save the file to import its jobs`
        : (when ??
          `the schedule of the job ${title} of ${program} can't be used here: change or remove the job and save the file to import the others`);
    if (typeof problem === 'string') return { problem };
    const own = idFrom(job.name === undefined || job.name.trim() === '' ? job.id : job.name, taken);
    taken.add(own);
    const session = job.sessionTarget === 'main' ? 'main' : 'own';
    jobs.push({ id: own, kind: 'agent', text, ...problem, chat, session, enabled: job.enabled ?? true });
  }
  return { jobs };
}

/** `at`, `every` or `cron` as this program has them; undefined when it has no such schedule. */
function whenOf({ schedule, createdAtMs = 0 }: ForeignJob): object | undefined {
  const { kind, at, atMs, everyMs, anchorMs = createdAtMs, expr, tz } = schedule;
  const zone = tz === undefined ? {} : { zone: tz };
  switch (kind) {
    case 'at': {
      const moment = atMs ?? Date.parse(at === undefined || hasOffset(at) ? (at ?? '') : `${at}Z`);
      return isTime(moment) ? { at: new Date(moment).toISOString(), ...zone } : undefined;
    }
    case 'every':
      return everyMs !== undefined && everyMs > 0 && isTime(anchorMs)
        ? { every: durationText(everyMs), from: new Date(anchorMs).toISOString() }
        : undefined;
    case 'cron': {
      const fields = expr?.trim().split(/\s+/u) ?? [];
      // Six fields begin with the second, which there is none of here.
      const five = fields.length === 6 && fields[0] === '0' ? fields.slice(1) : fields;
      return five.length === 5 ? { cron: five.join(' '), ...zone } : undefined;
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
