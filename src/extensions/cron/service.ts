import { isDeepStrictEqual } from 'node:util';
import { type App, AppError, oneLine, type Role } from '../../core/api.ts';
import { durationText, isoIn, isZone, localText } from '../../core/api-time.ts';
import type { CronAnswer, JobFacts, RunFact } from './operation.ts';
import type { CronRun } from './rows.ts';
import type { CronRuns } from './runs.ts';
import type { CronScheduler } from './scheduler.ts';
import { hashOfJob, idFrom, jobSchema, LONGEST_TEXT, problemOf, type Job, type JobCreator } from './job.ts';
import { jobOwnerOf, type JobRecorder, type StoredJob, type JobStore } from './job-store.ts';
import { brokenSentence } from './jobs-file.ts';
import { nextRuns, parseWhen, scheduleText, whenText, type Schedule } from './schedule.ts';

/** The person or program that calls the schedule, and its chat. */
export interface CronCaller {
  readonly creator: JobCreator;
  readonly role: Role;
  /** Chat to which new jobs send, unless the job names another: `channel:chat[:thread]`. */
  readonly chat: string;
  /** The turn that calls. @default none */
  readonly turnId?: string;
  /** Keeps what is needed to take a change back. @default nothing is kept */
  readonly record?: JobRecorder;
}

/** A job to add. */
export interface NewJob {
  /** The time or rule, in the words that `parseWhen` reads, such as `every 2h`. */
  readonly when: string;
  readonly text: string;
  readonly kind: Job['kind'];
  readonly zone?: string;
  /** @default derived from the text */
  readonly id?: string;
  readonly chat?: string;
  readonly session?: Job['session'];
}

const SHOWN_RUNS = 20;
const SHOWN_NEXT = 3;
const UTC = /^(?:UTC|GMT|Etc\/.*)$/u;

/**
 * The operations on scheduled jobs, for chat commands, the `cron` tool and the command line. Each throws an `AppError` of one
 * sentence when it is refused. People other than the owner see and change only their own jobs.
 */
export class CronService {
  readonly #app: App;
  readonly #jobs: JobStore;
  readonly #cron: CronScheduler;
  readonly #runs: CronRuns;

  constructor(app: App, jobs: JobStore, { cron, runs }: { readonly cron: CronScheduler; readonly runs: CronRuns }) {
    this.#app = app;
    this.#jobs = jobs;
    this.#cron = cron;
    this.#runs = runs;
  }

  async add(by: CronCaller, wanted: NewJob): Promise<CronAnswer> {
    await this.#jobs.refresh();
    const { job, schedule } = this.#build(by, wanted);
    await this.#jobs.add(job, { creator: by.creator, role: by.role }, this.#app.clock.now(), by.record);
    await this.#cron.look();
    const zone = wanted.zone ?? this.#jobs.zone;
    const times = this.#times(schedule, zone);
    const text =
      times.length === 1
        ? `Set \`${job.id}\` for ${times[0] ?? ''}.`
        : `Set \`${job.id}\`: ${scheduleText(schedule, zone)}. The next runs: ${times.join(', ')}.`;
    const entry: StoredJob = { job, hash: hashOfJob(job), schedule, state: 'active', agreed: null };
    return this.#answer(text, [this.#facts(entry, zone)]);
  }

  async list(by: CronCaller): Promise<CronAnswer> {
    await this.#jobs.refresh();
    const mine = this.#jobs.entries.filter((entry) => mayTouch(by, entry));
    const lines = mine.map((entry) => this.#line(entry));
    const broken = this.#jobs.broken === null ? [] : [brokenSentence(this.#jobs.broken)];
    const text = [...broken, ...(lines.length === 0 ? ['Nothing is scheduled.'] : lines)].join('\n');
    return this.#answer(
      text,
      mine.map((entry) => this.#facts(entry)),
    );
  }

  async show(by: CronCaller, id: string): Promise<CronAnswer> {
    await this.#jobs.refresh();
    const entry = this.#jobs.entry(id);
    const all = entry === undefined && by.role !== 'owner' ? [] : this.#runs.runs(id, SHOWN_RUNS);
    if (entry === undefined && all.length === 0) throw this.#unknown(by, id);
    if (entry !== undefined && !mayTouch(by, entry)) throw this.#unknown(by, id);
    const head = entry === undefined ? [`\`${id}\` is over.`] : [this.#line(entry), entry.job.text];
    const past = all.map((run) => this.#runLine(run, this.#zoneOf(entry?.job)));
    const text = [...head, past.length === 0 ? 'It has not run yet.' : `Its last runs:\n${past.join('\n')}`].join(
      '\n\n',
    );
    return {
      text,
      jobs: entry === undefined ? [] : [this.#facts(entry)],
      runs: all.map((run) => this.#runFact(run, this.#zoneOf(entry?.job))),
    };
  }

  /** Puts another job into the place of one, under its id; what is not said stays, and so does whether it is on. */
  async replace(by: CronCaller, id: string, wanted: NewJob): Promise<CronAnswer> {
    const { job: before, state } = await this.#own(by, id);
    const { chat = before.chat, session = before.session, zone = before.zone } = wanted;
    const whole = { ...wanted, id, chat, session, ...(zone === undefined ? {} : { zone }) };
    const { job } = this.#build(by, whole, { replaces: id });
    await this.#jobs.add(
      { ...job, enabled: state !== 'off' },
      { creator: by.creator, role: by.role },
      this.#app.clock.now(),
    );
    await this.#cron.look();
    const entry = this.#jobs.entry(id);
    return this.#answer(`\`${id}\` is changed.`, entry === undefined ? [] : [this.#facts(entry)]);
  }

  async remove(by: CronCaller, id: string): Promise<CronAnswer> {
    await this.#jobs.refresh();
    const entry = this.#jobs.entry(id);
    // A job that runs once is over while it runs.
    const agreed = entry === undefined && this.#runs.busy().includes(id) ? (this.#runs.job(id) ?? null) : null;
    if (!mayTouch(by, entry ?? { agreed }) || (entry === undefined && agreed === null)) throw this.#unknown(by, id);
    if (entry !== undefined) await this.#jobs.remove(id, by.record);
    const turnIds = await this.#runs.endRuns(id, by.turnId ?? null);
    for (const turnId of turnIds) this.#app.turns.stop(turnId);
    await this.#cron.look();
    const ended = turnIds.length === 0 ? '' : ' It was running, so I stopped it.';
    return this.#answer(`\`${id}\` is removed.${ended}`, entry === undefined ? [] : [this.#facts(entry)]);
  }

  /**
   * Switches a job on. A job that was only found in cron/jobs.json starts only if an owner gives its present `code`; without
   * it, the answer shows the job and the command to send.
   */
  async enable(by: CronCaller, id: string, code = ''): Promise<CronAnswer> {
    const entry = await this.#own(by, id);
    const before = this.#app.clock.now();
    if (entry.state === 'waiting') {
      if (by.role !== 'owner') throw new AppError('cron-owner', 'Only the owner can let this job run.');
      if (code !== entry.hash) {
        const text = `${this.#line(entry)}\n\n${entry.job.text}\n\nIt was found in cron/jobs.json. \`/cron enable ${id} ${entry.hash}\` allows exactly this job.`;
        return this.#answer(text, [this.#facts(entry)]);
      }
      await this.#jobs.agree(entry, by.creator);
    } else {
      if (this.#times(entry.schedule, this.#zoneOf(entry.job)).length === 0)
        throw new AppError('cron-over', `The time of \`${id}\` has passed. Remove it, and set it for another time.`);
      await this.#jobs.setEnabled(id, true, by.record);
    }
    await this.#cron.look();
    const now = this.#jobs.entry(id) ?? entry;
    const zone = this.#zoneOf(now.job);
    const missed = this.#runs.runs(id, 1).filter(({ execution, at }) => execution === 'missed' && at >= before);
    const late = missed.map(
      (run) => `\n\nIt came due before you approved it, and it is too late to run now:\n${this.#runLine(run, zone)}`,
    );
    const times = this.#times(now.schedule, zone);
    const next = times.length > 0 ? `is on: ${times.join(', ')}` : late.length > 0 ? 'is over' : 'runs now, late';
    return this.#answer(`\`${id}\` ${next}.${late.join('')}`, [this.#facts(now)]);
  }

  async disable(by: CronCaller, id: string): Promise<CronAnswer> {
    await this.#own(by, id);
    await this.#jobs.setEnabled(id, false, by.record);
    await this.#cron.look();
    const entry = this.#jobs.entry(id);
    return this.#answer(`\`${id}\` is off.`, entry === undefined ? [] : [this.#facts(entry)]);
  }

  async run(by: CronCaller, id: string): Promise<CronAnswer> {
    const entry = await this.#own(by, id);
    if (entry.agreed === null) throw new AppError('cron-waiting', `\`${id}\` waits for the owner: /cron enable ${id}.`);
    const ran = await this.#cron.runNow(entry);
    if (!ran) throw new AppError('cron-busy', `\`${id}\` is running, or may not run any more.`);
    return this.#answer(`\`${id}\` runs now.`, [this.#facts(entry)]);
  }

  #build(
    by: CronCaller,
    wanted: NewJob,
    { replaces }: { readonly replaces?: string } = {},
  ): { readonly job: Job; readonly schedule: Schedule } {
    const { kind, text, session } = wanted;
    const zone = wanted.zone ?? this.#jobs.zone;
    if (!isZone(zone)) throw refused(`There is no time zone ${JSON.stringify(zone)}: name one such as Europe/Vienna.`);
    if (text.trim() === '') throw refused('A job needs a text: what is to be said or done.');
    if (by.role !== 'owner' && kind === 'command') throw refused('Only the owner can schedule commands.');
    const chat = wanted.chat ?? by.chat;
    if (by.role !== 'owner' && chat !== by.chat)
      throw refused('Only the owner can schedule something for another chat.');
    const parsed = parseWhen(wanted.when, { now: this.#app.clock.now(), zone });
    if (!parsed.ok) throw refused(parsed.reason);
    if (parsed.local && wanted.zone === undefined && this.#isZoneUnknown()) {
      throw refused(
        'The person’s time zone is not known (this machine runs on UTC). Ask the person where they are, then call again with their zone, such as "Europe/Vienna". The zone is for this job only; the owner can set agent.timezone for all of them.',
      );
    }
    const { schedule } = parsed;
    const twin = this.#jobs.entries.find(
      (entry) => entry.job.id !== replaces && mayTouch(by, entry) && isSame(entry, { kind, text, chat, schedule }),
    );
    if (twin !== undefined)
      throw refused(`This is scheduled already, so I added nothing: ${this.#line(twin).slice(2)}`);
    const taken = new Set(this.#jobs.entries.map(({ job }) => job.id).filter((known) => known !== replaces));
    const id = wanted.id ?? idFrom(text, taken);
    if (taken.has(id))
      throw refused(`There is a job ${JSON.stringify(id)} already: remove it first, or choose another name.`);
    const job = jobSchema.safeParse({
      id,
      kind,
      text,
      chat,
      session,
      ...this.#written(schedule, { zone, isGiven: wanted.zone !== undefined }),
    });
    const problem = job.success
      ? problemOf(job.data, zone)
      : (job.error.issues[0]?.message ?? 'it does not have the fields of a job');
    if (!job.success || problem !== null) throw refused(`This is not a valid job: ${problem ?? ''}.`);
    return { job: job.data, schedule };
  }

  /** The fields of a schedule as jobs.json has them. */
  #written(
    schedule: Schedule,
    { zone, isGiven }: { readonly zone: string; readonly isGiven: boolean },
  ): Pick<Job, 'at' | 'every' | 'from' | 'cron' | 'zone'> {
    const own = isGiven ? { zone } : {};
    switch (schedule.type) {
      case 'at':
        return { at: atText(schedule.at, zone), ...own };
      case 'every':
        return { every: durationText(schedule.stepMs), from: atText(schedule.from, zone), ...own };
      case 'cron':
        return { cron: schedule.expression, zone };
    }
  }

  async #own(by: CronCaller, id: string): Promise<StoredJob> {
    await this.#jobs.refresh();
    const entry = this.#jobs.entry(id);
    if (entry === undefined || !mayTouch(by, entry)) throw this.#unknown(by, id);
    return entry;
  }

  #unknown(by: CronCaller, id: string): AppError {
    const ids = this.#jobs.entries.filter((entry) => mayTouch(by, entry)).map(({ job }) => job.id);
    const there = ids.length === 0 ? 'There are none.' : `There are: ${ids.join(', ')}.`;
    return new AppError('cron-unknown', `There is no job ${JSON.stringify(id.slice(0, 64))}. ${there}`);
  }

  /** Whether the person's zone is unknown: none is set, and the machine runs on UTC, which says nothing about its place. */
  #isZoneUnknown(): boolean {
    return this.#jobs.knownZone === null && UTC.test(this.#jobs.zone);
  }

  /** The zone of a job's times: its own, else the person's. */
  #zoneOf(job: Job | undefined): string {
    return job?.zone ?? this.#jobs.zone;
  }

  #times(schedule: Schedule, zone: string): readonly string[] {
    return nextRuns(schedule, this.#app.clock.now(), SHOWN_NEXT).map((at) => localText(at, zone));
  }

  #line(entry: StoredJob): string {
    const { job, schedule, state } = entry;
    const zone = this.#zoneOf(job);
    const [next] = this.#times(schedule, zone);
    const when = state === 'active' && next !== undefined ? `next ${next}` : '';
    const how = state === 'waiting' ? `waits for the owner: /cron enable ${job.id}` : state === 'off' ? 'off' : when;
    const what = oneLine(job.text, 80).replaceAll('`', "'");
    return `- \`${job.id}\` ${job.kind}, ${scheduleText(schedule, zone)}, to ${job.chat}; ${how}: ${what}`;
  }

  #runLine({ dueAt, lastDue, count, execution, delivery, reason, lateMs }: CronRun, zone: string): string {
    const due =
      count === 1 ? localText(dueAt, zone) : `${count} times, ${localText(dueAt, zone)} to ${localText(lastDue, zone)}`;
    const late = lateMs > 60_000 ? `, ${durationText(lateMs)} late` : '';
    const sent = delivery === 'none' ? '' : `, delivery: ${delivery}`;
    return `- ${due}: ${execution}${late}${sent}${reason === null ? '' : ` (${oneLine(reason, 200)})`}`;
  }

  #runFact(run: CronRun, zone: string): RunFact {
    const { count, execution, delivery, reason, lateMs, turnId } = run;
    const due = isoIn(run.dueAt, zone);
    return { due, lastDue: isoIn(run.lastDue, zone), count, execution, delivery, reason, lateMs, turnId };
  }

  #facts({ job, hash, schedule, state, agreed }: StoredJob, zone = this.#zoneOf(job)): JobFacts {
    const creator = agreed === null ? null : jobOwnerOf(agreed).creator;
    return {
      id: job.id,
      kind: job.kind,
      text: job.text,
      schedule: scheduleText(schedule, zone),
      when: whenText(schedule, zone),
      chat: job.chat,
      session: job.session,
      state,
      by: creator === null ? null : `${creator.channel}:${creator.id}`,
      next: nextRuns(schedule, this.#app.clock.now(), SHOWN_NEXT).map((at) => isoIn(at, zone)),
      code: hash,
    };
  }

  #answer(text: string, jobs: readonly JobFacts[]): CronAnswer {
    return { text, jobs, runs: [] };
  }
}

/** Whether the caller may see and change this job: the owner every job, others the jobs that they created. */
function mayTouch({ role, creator }: CronCaller, { agreed }: Pick<StoredJob, 'agreed'>): boolean {
  if (role === 'owner') return true;
  if (agreed === null) return false;
  const by = jobOwnerOf(agreed).creator;
  return by.channel === creator.channel && by.id === creator.id;
}

/** Whether a job does the same at the same times. One that repeats from another moment on is the same. */
function isSame(
  { job, schedule, state }: StoredJob,
  wanted: Pick<Job, 'kind' | 'text' | 'chat'> & { schedule: Schedule },
): boolean {
  if (state === 'off' || job.kind !== wanted.kind || job.chat !== wanted.chat) return false;
  if (oneLine(job.text, LONGEST_TEXT).toLowerCase() !== oneLine(wanted.text, LONGEST_TEXT).toLowerCase()) return false;
  return isDeepStrictEqual({ ...schedule, from: 0 }, { ...wanted.schedule, from: 0 });
}

/** A time as ISO 8601 in a zone; with milliseconds only if they are not zero. */
function atText(at: number, zone: string): string {
  const ms = ((at % 1_000) + 1_000) % 1_000;
  const iso = isoIn(at, zone);
  return ms === 0 ? iso : `${iso.slice(0, 19)}.${String(ms).padStart(3, '0')}${iso.slice(19)}`;
}

function refused(reason: string): AppError {
  return new AppError('cron-refused', reason);
}
