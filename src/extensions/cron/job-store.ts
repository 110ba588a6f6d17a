import { type Clock, errorMessage, type Logger } from '../../core/api.ts';
import type { AgreedJob } from './rows.ts';
import type { CronRuns } from './runs.ts';
import { hashOfJob, jobSchema, scheduleOf, type Job, type JobCreator, type JobOwner } from './job.ts';
import type { BrokenFile, JobsFile, JobList } from './jobs-file.ts';
import type { Schedule } from './schedule.ts';

/** A job of cron/jobs.json with its state. */
export interface StoredJob {
  readonly job: Job;
  readonly hash: string;
  readonly schedule: Schedule;
  /** `waiting`: found in the file; does not run before the owner agrees to it. */
  readonly state: 'active' | 'off' | 'waiting';
  /** Who agreed to it; null: no one agreed to this definition. */
  readonly agreed: AgreedJob | null;
}

/** A job with what gave it its right to run, so that a change of it can be taken back. */
export interface JobState {
  readonly job: Job;
  /** Null: no one agreed to it. */
  readonly agreed: Pick<AgreedJob, 'creator' | 'role'> | null;
  /** Its place in the file, from 0. */
  readonly place: number;
}

/** Keeps a change of a job before it is made; when it rejects, the job is not changed. Null: there is no job. */
export type JobRecorder = (change: {
  readonly job: string;
  readonly before: JobState | null;
  readonly after: JobState | null;
}) => Promise<void>;

export interface JobStoreOptions {
  readonly file: JobsFile;
  readonly runs: CronRuns;
  readonly clock: Clock;
  readonly log: Logger;
  /** `agent.timezone`; null: not set. */
  readonly timezone: string | null;
  readonly machineZone: string;
  /** Tells the owner about `waiting` jobs, once for each definition. Returns false to be called again later. */
  readonly found: (entries: readonly StoredJob[]) => Promise<boolean>;
  /** Tells the owner that the file cannot be used. Returns false to be called again later. */
  readonly broken: (file: BrokenFile) => Promise<boolean>;
  /** Tells the owner that the file was gone and was written again with this many jobs. Returns false to be called again later. */
  readonly rewritten: (jobs: number) => Promise<boolean>;
}

/** The jobs of cron/jobs.json, joined with the agreements in the journal. A job without an agreement does not run. */
export class JobStore {
  readonly #options: JobStoreOptions;
  #entries: readonly StoredJob[] = [];
  #opened = false;
  readonly #reported = new Set<string>();
  /** When each definition that waits for the owner was found, ms since 1970. */
  #foundAt: ReadonlyMap<string, number> = new Map();
  /** Ids of jobs whose agreement is stored but which are not in the file yet. */
  readonly #adding = new Set<string>();

  constructor(options: JobStoreOptions) {
    this.#options = options;
  }

  get entries(): readonly StoredJob[] {
    return this.#entries;
  }

  entry(id: string): StoredJob | undefined {
    return this.#entries.find(({ job }) => job.id === id);
  }

  /** Why the file cannot be used now; null: it can. */
  get broken(): BrokenFile | null {
    return this.#options.file.broken;
  }

  /** The person's zone, or the machine's. */
  get zone(): string {
    return this.knownZone ?? this.#options.machineZone;
  }

  /** The person's zone, from the configuration or the file; null: not known. */
  get knownZone(): string | null {
    return this.#options.timezone ?? this.#options.file.list.zone ?? null;
  }

  /** A job as it could be put back; null: there is none. */
  state(id: string): JobState | null {
    const entry = this.entry(id);
    if (entry === undefined) return null;
    const place = this.#options.file.list.jobs.findIndex((job) => job.id === id);
    const agreed = entry.agreed === null ? null : { creator: entry.agreed.creator, role: entry.agreed.role };
    return { job: entry.job, agreed, place };
  }

  /** Whether a job with this definition has had its last run. */
  isOver(job: Job): boolean {
    return this.#options.runs.isOver(job.id, hashOfJob(job));
  }

  /** Puts a job back as it was. Due times of the past do not count. */
  async putBack({ job, agreed, place }: JobState): Promise<void> {
    const { file, runs, clock } = this.#options;
    const now = clock.now();
    this.#adding.add(job.id);
    try {
      if (agreed === null) await runs.forget([job.id]);
      else {
        const [hash, definition] = [hashOfJob(job), JSON.stringify(job)];
        await runs.agree({ id: job.id, hash, definition, ...agreed, enabled: job.enabled, settled: now, since: now });
      }
      await file.update((list) => {
        const others = list.jobs.filter(({ id }) => id !== job.id);
        return { ...list, jobs: others.toSpliced(Math.min(place, others.length), 0, job) };
      });
    } finally {
      this.#adding.delete(job.id);
    }
    await this.#join();
  }

  /** Calls `changed` after each change of the file, until disposed. */
  watch(changed: () => void): Promise<Disposable> {
    return this.#options.file.watch(changed);
  }

  /** Reads the file again if it changed, and joins it with the agreements. */
  async refresh(): Promise<void> {
    const { file, runs } = this.#options;
    if (!this.#opened) file.assume({ jobs: runs.jobs().map(definitionOf) });
    await file.look();
    if (file.broken === null) await this.#forgetMissing();
    this.#opened = true;
    await this.#join();
  }

  /** Adds a job that `owner` agreed to. Its first run is due after `after` (ms since 1970). Rejects when it is not stored. */
  async add(job: Job, owner: JobOwner, after: number, record?: JobRecorder): Promise<void> {
    const { file, runs } = this.#options;
    const agreed = { creator: JSON.stringify(owner.creator), role: owner.role };
    await this.#record(record, job.id, { job, agreed });
    // The agreement first: in the other order, a crash in between would leave a job that waits for the owner.
    this.#adding.add(job.id);
    try {
      await runs.agree(this.#agreement(job, owner, after));
      await file.update((list) => ({ ...list, jobs: [...list.jobs.filter(({ id }) => id !== job.id), job] }));
    } catch (error) {
      await runs.forget([job.id]);
      throw error;
    } finally {
      this.#adding.delete(job.id);
    }
    await this.#join();
  }

  async remove(id: string, record?: JobRecorder): Promise<void> {
    const { file, runs } = this.#options;
    await this.#record(record, id, null);
    await file.update((list) => without(list, id));
    await runs.forget([id]);
    await this.#join();
  }

  /**
   * Stores that the owner `creator` agreed to a job of the file, and switches it on. A time of day or a
   * date that came since the job was found counts as missed, so it is caught up.
   */
  async agree(entry: StoredJob, creator: JobCreator): Promise<void> {
    const { file, runs, clock } = this.#options;
    const job = { ...entry.job, enabled: true };
    const now = clock.now();
    // What repeats after a length of time has no time of day that could be missed.
    const since = entry.schedule.type === 'every' ? now : (this.#foundAt.get(keyOf(entry)) ?? now);
    await runs.agree(this.#agreement(job, { creator, role: 'owner' }, since));
    await file.update((list) => changed(list, job));
    await this.#join();
  }

  async setEnabled(id: string, enabled: boolean, record?: JobRecorder): Promise<void> {
    const { file, runs, clock } = this.#options;
    const before = this.state(id);
    await this.#record(record, id, before && { ...before, job: { ...before.job, enabled } });
    await runs.enable(id, enabled, enabled ? clock.now() : 0);
    await file.update((list) => {
      const job = list.jobs.find((one) => one.id === id);
      return job === undefined ? list : changed(list, { ...job, enabled });
    });
    await this.#join();
  }

  async #record(record: JobRecorder | undefined, id: string, after: Omit<JobState, 'place'> | null): Promise<void> {
    const before = this.state(id);
    const place = before?.place ?? this.#options.file.list.jobs.length;
    await record?.({ job: id, before, after: after && { ...after, place } });
  }

  #agreement(job: Job, { creator, role }: JobOwner, after: number): AgreedJob {
    return {
      id: job.id,
      hash: hashOfJob(job),
      definition: JSON.stringify(job),
      role,
      creator: JSON.stringify(creator),
      enabled: job.enabled,
      settled: after,
      since: this.#options.clock.now(),
    };
  }

  /** Ends the agreements of jobs that a person removed from the file. */
  async #forgetMissing(): Promise<void> {
    const { file, runs } = this.#options;
    const there = new Set(file.list.jobs.map(({ id }) => id));
    const gone = runs.jobs().filter(({ id }) => !there.has(id) && !this.#adding.has(id));
    if (gone.length > 0) await runs.forget(gone.map(({ id }) => id));
  }

  async #join(): Promise<void> {
    const { file, runs, clock, log } = this.#options;
    const agreed = new Map(runs.jobs().map((row) => [row.id, row]));
    const entries: StoredJob[] = [];
    const over: string[] = [];
    for (const job of file.list.jobs) {
      const schedule = scheduleOf(job, this.zone);
      if ('problem' in schedule) continue;
      const hash = hashOfJob(job);
      const row = agreed.get(job.id);
      if (row === undefined && runs.isOver(job.id, hash)) over.push(job.id);
      else entries.push(entryOf(job, { hash, schedule, row }));
    }
    this.#entries = entries;
    const waiting = entries.filter(({ state }) => state === 'waiting').map(keyOf);
    this.#foundAt = new Map(waiting.map((key) => [key, this.#foundAt.get(key) ?? clock.now()]));
    if (over.length > 0) {
      await file
        .update((list) => over.reduce(without, list))
        .catch((error: unknown) =>
          log.warn('cron: finished job not removed from the file', { reason: errorMessage(error) }),
        );
    }
    await this.#tell();
  }

  async #tell(): Promise<void> {
    const { file, found, broken, rewritten, log } = this.#options;
    const once = async (keys: readonly string[], tell: () => Promise<boolean>): Promise<void> => {
      if (keys.every((key) => this.#reported.has(key))) return;
      try {
        if (await tell()) for (const key of keys) this.#reported.add(key);
      } catch (error) {
        log.warn('cron: notice about cron/jobs.json not queued', { reason: errorMessage(error) });
      }
    };
    if (file.broken !== null) {
      const is = file.broken;
      await once([`broken:${is.copy ?? is.reason}`], () => broken(is));
    }
    if (file.rewrites > 0) await once([`rewritten:${file.rewrites}`], () => rewritten(file.list.jobs.length));
    const waiting = this.#entries.filter((entry) => entry.state === 'waiting' && !this.#reported.has(keyOf(entry)));
    await once(waiting.map(keyOf), () => found(waiting));
  }
}

function keyOf({ job, hash }: StoredJob): string {
  return `${job.id}:${hash}`;
}

export function jobOwnerOf({ creator, role }: AgreedJob): { readonly creator: JobCreator; readonly role: string } {
  return { creator: JSON.parse(creator) as JobCreator, role };
}

function definitionOf({ definition, enabled }: AgreedJob): Job {
  return { ...jobSchema.parse(JSON.parse(definition)), enabled };
}

function entryOf(
  job: Job,
  { hash, schedule, row }: { hash: string; schedule: Schedule; row: AgreedJob | undefined },
): StoredJob {
  const isAgreed = row !== undefined && row.hash === hash && (row.enabled || !job.enabled);
  const state = isAgreed ? (job.enabled ? 'active' : 'off') : 'waiting';
  return { job, hash, schedule, state, agreed: isAgreed ? row : null };
}

function without(list: JobList, id: string): JobList {
  return list.jobs.some((job) => job.id === id) ? { ...list, jobs: list.jobs.filter((job) => job.id !== id) } : list;
}

function changed(list: JobList, job: Job): JobList {
  const before = list.jobs.find(({ id }) => id === job.id);
  if (before?.enabled === job.enabled && hashOfJob(before) === hashOfJob(job)) return list;
  return { ...list, jobs: list.jobs.map((one) => (one.id === job.id ? job : one)) };
}
