import { dirname } from 'node:path';
import * as z from 'zod';
import { AppError, type Clock, errorCode, errorMessage, oneLine, plural } from '../../core/api.ts';
import {
  ensureDirectory,
  fileStampOf,
  quarantine,
  readIfExists,
  replaceDurable,
  watchFile,
} from '../../core/api-files.ts';
import { isZone } from '../../core/api-time.ts';
import { fromForeignJobs, type ReadAs } from './foreign-jobs.ts';
import { jobSchema, MOST_JOBS, problemOf, type Job } from './job.ts';

const VERSION = 1;

const fileSchema = z.strictObject({
  version: z.literal(VERSION),
  /** Time zone of the person, if the configuration names none. */
  zone: z.string().refine(isZone, { error: 'expected a time zone such as "Europe/Vienna"' }).optional(),
  jobs: z.array(jobSchema).max(MOST_JOBS),
});

export interface JobList {
  readonly zone?: string;
  readonly jobs: readonly Job[];
}

/** A file that cannot be used as a whole. */
export interface BrokenFile {
  readonly reason: string;
  /** Path of its copy; null if it can't be read. */
  readonly copy: string | null;
  /** How many jobs of another program's file were imported. If null, the jobs read last stay in effect. */
  readonly imported: number | null;
}

/** What is wrong with the file, for a person. */
export function brokenSentence({ reason, imported }: BrokenFile): string {
  return imported === null
    ? `I can’t use cron/jobs.json: ${reason}. I keep the jobs that I read last.`
    : `I imported ${plural(imported, 'job')} from cron/jobs.json, but not all: ${reason}.`;
}

export interface JobsFileOptions {
  readonly path: string;
  readonly quarantine: string;
  readonly clock: Clock;
  /** Time zone of jobs without one if the file has none either. */
  readonly zone: string;
  /** As in `ReadAs`. */
  readonly hasChannel?: (name: string) => boolean;
}

const NOTHING: JobList = { jobs: [] };

/**
 * The file of scheduled jobs, which people may read and edit. An invalid file is copied to the quarantine and left as
 * it is, and the jobs read last stay in effect; the next change by the program replaces it. A missing file is
 * written again.
 */
export class JobsFile {
  readonly #options: JobsFileOptions;
  #stamp: string | undefined;
  #text: string | undefined;
  #list: JobList = NOTHING;
  #broken: BrokenFile | null = null;
  #rewrites = 0;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: JobsFileOptions) {
    this.#options = options;
  }

  get list(): JobList {
    return this.#list;
  }

  get broken(): BrokenFile | null {
    return this.#broken;
  }

  /** How often the file was gone although there were jobs, and was written again. */
  get rewrites(): number {
    return this.#rewrites;
  }

  /** The jobs to use if the file is invalid or gone when it is first read. */
  assume(list: JobList): void {
    this.#list = list;
  }

  /** Reads the file if it changed; true if something is new. Rejects when something can't be written. */
  look(): Promise<boolean> {
    return this.#enqueue(() => this.#look());
  }

  async #look(): Promise<boolean> {
    const { path } = this.#options;
    const stamp = fileStampOf(path);
    if (stamp === this.#stamp) return false;
    const { text, problem } = await readText(path);
    if (text === this.#text && text !== undefined) {
      this.#stamp = stamp;
      return false;
    }
    // A person who wants no jobs saves an empty list.
    if (text === undefined && problem === undefined && this.#list.jobs.length > 0) {
      await this.#write(this.#list);
      this.#rewrites += 1;
      return true;
    }
    const { clock, ...readAs } = this.#options;
    const read = (): ReturnType<typeof parseJobs> => {
      if (problem !== undefined) return { problem };
      return text === undefined ? NOTHING : parseJobs(text, { ...readAs, now: clock.now() });
    };
    const parsed = read();
    const isUnusable = 'problem' in parsed;
    const {
      imported = false,
      left = null,
      ...list
    }: ParsedJobs = isUnusable ? { ...this.#list, left: parsed.problem } : parsed;
    if (left !== null) {
      // The file stays as it is, so that it can be corrected.
      const copy =
        text === undefined ? null : await quarantine(this.#options.quarantine, 'jobs.json', Buffer.from(text));
      this.#broken = { reason: left, copy, imported: isUnusable ? null : list.jobs.length };
    } else if (imported) {
      // The original is kept, because from now on the file is this program's.
      await quarantine(this.#options.quarantine, 'jobs.json', Buffer.from(text ?? ''));
      await this.#write(list);
      return true;
    } else this.#broken = null;
    this.#list = list;
    // Only now: a file whose copy couldn't be written is looked at again, as is one that couldn't be read.
    this.#stamp = problem === undefined ? stamp : undefined;
    this.#text = text;
    return true;
  }

  /** Replaces the list by the one that `change` returns; durable when it resolves. Updates run one after the other. */
  update(change: (list: JobList) => JobList): Promise<void> {
    return this.#enqueue(() => this.#update(change));
  }

  /** Looks and updates run one after the other: a look that began before an update would bring the old list back. */
  async #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(work);
    this.#queue = done.catch(() => {});
    return await done;
  }

  /** Calls `changed` when the file may have changed. Makes the folder if it is missing. */
  async watch(changed: () => void): Promise<Disposable> {
    await ensureDirectory(dirname(this.#options.path));
    return watchFile(this.#options.path, this.#options.clock, changed);
  }

  async #update(change: (list: JobList) => JobList): Promise<void> {
    await this.#look();
    const next = change(this.#list);
    if (next === this.#list && (this.#broken === null || this.#broken.imported !== null)) return;
    if (next.jobs.length > MOST_JOBS) {
      throw new AppError('cron-full', `There are ${MOST_JOBS} jobs already: remove some first.`);
    }
    await this.#write(next);
  }

  async #write(next: JobList): Promise<void> {
    const { path } = this.#options;
    const text = `${JSON.stringify({ version: VERSION, zone: next.zone, jobs: next.jobs }, null, 2)}\n`;
    await ensureDirectory(dirname(path));
    await replaceDurable(path, text);
    this.#text = text;
    this.#stamp = fileStampOf(path);
    this.#list = next;
    this.#broken = null;
  }
}

/** What is in the file, or why it can't be read; neither: there is none. */
async function readText(path: string): Promise<{ readonly text?: string; readonly problem?: string }> {
  try {
    return { text: await readIfExists(path) };
  } catch (error) {
    const code = errorCode(error) ?? errorMessage(error);
    return { problem: code === 'EISDIR' ? 'a folder is in its place' : `it can’t be read (${code})` };
  }
}

interface ParsedJobs extends JobList {
  /** It was another program's. @default false */
  readonly imported?: boolean;
  /** Why some jobs can't be used. @default null */
  readonly left?: string | null;
}

/** The jobs of a file, or what is wrong with it. Pure. */
export function parseJobs(text: string, readAs: ReadAs): ParsedJobs | { readonly problem: string } {
  let data: unknown;
  try {
    data = JSON.parse(text.replace(/^\uFEFF/u, ''));
  } catch (error) {
    return { problem: `it is not JSON: ${oneLine(errorMessage(error), 200)}` };
  }
  const foreign = fromForeignJobs(data, readAs);
  if (foreign !== undefined) {
    const { jobs, problem } = foreign;
    return problem !== null && jobs.length === 0 ? { problem } : { jobs, imported: true, left: problem };
  }
  if (Array.isArray(data)) {
    return { problem: 'it is a bare list. Put the list into {"version": 1, "jobs": […]}, and save the file' };
  }
  const parsed = fileSchema.safeParse(data);
  if (!parsed.success) return { problem: firstIssue(parsed.error) };
  const { zone, jobs } = parsed.data;
  const ids = new Set<string>();
  for (const job of jobs) {
    const problem = ids.has(job.id) ? 'there is another with this id' : problemOf(job, zone ?? readAs.zone);
    if (problem !== null) return { problem: `the job ${job.id}: ${problem}` };
    ids.add(job.id);
  }
  return { ...(zone === undefined ? {} : { zone }), jobs };
}

function firstIssue({ issues }: z.ZodError): string {
  const [issue] = issues;
  if (issue === undefined) return 'it does not have the fields of a job';
  const path = issue.path.map(String).join('.');
  return path === '' ? issue.message : `${path}: ${issue.message}`;
}
