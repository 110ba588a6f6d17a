import { createHash } from 'node:crypto';
import * as z from 'zod';
import { cut, parseChat, type Role } from '../../core/api.ts';
import { isZone } from '../../core/api-time.ts';
import { parseCron, parseEvery, parseMoment, type Schedule } from './schedule.ts';

/** Most jobs in a file. */
export const MOST_JOBS = 200;
/** Most characters of a job's text. */
export const LONGEST_TEXT = 20_000;
const LONGEST_FIELD = 400;

const field = z.string().trim().min(1).max(LONGEST_FIELD);

export const jobSchema = z
  .strictObject({
    id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/u, {
      error: 'expected an id of small letters, digits and hyphens, such as "water-plants"',
    }),
    /** `message`: the text is sent as it is; `agent`: it is a task; `command`: it is a comma command. */
    kind: z.enum(['message', 'agent', 'command']).default('message'),
    text: z.string().trim().min(1).max(LONGEST_TEXT),
    /** Just one of `at`, `every` and `cron`. */
    at: field.optional(),
    every: field.optional(),
    /** The moment that the steps of `every` are counted from. */
    from: field.optional(),
    cron: field.optional(),
    /** Of this job's times, also where they are shown; without it the person's. */
    zone: field.optional(),
    /** Where its words go: `channel:chat` or `channel:chat:thread`. */
    chat: field,
    /** `own`: a conversation of its own; `main`: that of its chat. */
    session: z.enum(['own', 'main']).default('own'),
    enabled: z.boolean().default(true),
  })
  .refine(({ at, every, cron }) => [at, every, cron].filter((one) => one !== undefined).length === 1, {
    error: 'expected just one of "at", "every" and "cron"',
  });

/** A job as it stands in the file. */
export type Job = z.output<typeof jobSchema>;

/** Who made a job, and where they were heard then. */
export interface JobCreator {
  readonly channel: string;
  /** The platform's immutable id. */
  readonly id: string;
  readonly name?: string;
  /** The bot's own account, and the chat in which they spoke. */
  readonly account: string;
  readonly chat: string;
  readonly chatType: 'direct' | 'group';
}

/** What gave a job its right to run. */
export interface JobOwner {
  readonly creator: JobCreator;
  /** The creator's at that time. */
  readonly role: Role;
}

/** When a job of the file is due; `zone`: the person's. */
export function scheduleOf(job: Job, zone: string): Schedule | { readonly problem: string } {
  const own = job.zone ?? zone;
  if (job.at !== undefined) {
    const moment = parseMoment(job.at, own);
    const problem = `"at" must be a date with a time, such as "2027-03-01T09:00", but ${JSON.stringify(job.at)} was given`;
    return moment === null ? { problem } : { type: 'at', at: moment.at };
  }
  const parsed =
    job.every === undefined
      ? parseCron(job.cron ?? '', own, 0)
      : parseEvery(job.every, job.from === undefined ? 0 : (parseMoment(job.from, own)?.at ?? 0));
  return parsed.ok ? parsed.schedule : { problem: parsed.reason.replace(/\.$/u, '') };
}

/** Why a job that is well formed cannot be used; null: it can. */
export function problemOf(job: Job, zone: string): string | null {
  if (parseChat(job.chat) === undefined) {
    return `"chat" must be channel:chat, such as "telegram:123456789", but ${JSON.stringify(job.chat)} was given`;
  }
  if (job.zone !== undefined && !isZone(job.zone)) return `there is no time zone ${JSON.stringify(job.zone)}`;
  if (job.kind === 'command' && !/^,[a-z]\w*(?:\s|$)/iu.test(job.text)) {
    return `the text of a command is a comma and a tool, such as ",list_dir path=notes", but ${JSON.stringify(cut(job.text, 80))} was given`;
  }
  const schedule = scheduleOf(job, zone);
  return 'problem' in schedule ? schedule.problem : null;
}

/** Of all that an agreement covers; whether it is switched on is no part of it. */
export function hashOfJob(job: Job): string {
  const { id, kind, text, at, every, from, cron, zone, chat, session } = job;
  const content = JSON.stringify([id, kind, text, at, every, from, cron, zone, chat, session]);
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

/** `water-plants` from a text, as none of `taken` is called. */
export function idFrom(text: string, taken: ReadonlySet<string>): string {
  const words = text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/gu, '-')
    .replace(/^-+|-+$/gu, '');
  const base = words.slice(0, 32).replace(/-+$/u, '') || 'job';
  for (let n = 1; ; n += 1) {
    const id = n === 1 ? base : `${base}-${n}`;
    if (!taken.has(id)) return id;
  }
}
