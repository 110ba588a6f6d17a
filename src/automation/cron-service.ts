import type { Role } from '../bus/messages.ts';
import type { CronRun } from '../journal/cron-rows.ts';
import type { CronRuns } from '../journal/cron-runs.ts';
import type { Clock } from '../util/clock.ts';
import { AppError } from '../util/errors.ts';
import { oneLine } from '../util/text.ts';
import type { CronScheduler } from './cron-scheduler.ts';
import { durationText } from './durations.ts';
import { hashOfJob, idFrom, jobSchema, problemOf, type Job, type JobCreator } from './job.ts';
import { jobOwnerOf, type StoredJob, type JobStore } from './job-store.ts';
import { nextRuns, parseWhen, scheduleText, type Schedule } from './schedule.ts';
import { isoIn, isZone, localText } from '../util/time-zone.ts';

/** Who wants something of the schedule, and where they say so. */
export interface CronCaller {
  readonly creator: JobCreator;
  readonly role: Role;
  /** Where what they set will speak, unless they name another: `channel:chat[:thread]`. */
  readonly chat: string;
}

export interface NewJob {
  readonly when: string;
  readonly text: string;
  readonly kind: Job['kind'];
  readonly zone?: string | undefined;
  /** @default made of the text */
  readonly id?: string | undefined;
  readonly chat?: string | undefined;
  readonly session?: Job['session'] | undefined;
}

/** A job as programs see it. Times are ISO 8601 in the person's zone. */
export interface JobFacts {
  readonly id: string;
  readonly kind: Job['kind'];
  readonly text: string;
  readonly schedule: string;
  readonly chat: string;
  readonly session: Job['session'];
  readonly state: StoredJob['state'];
  readonly by: string | null;
  readonly next: readonly string[];
  /** Of its definition; what is agreed to. */
  readonly code: string;
}

export interface RunFact extends Omit<CronRun, 'dueAt' | 'lastDue' | 'at' | 'job'> {
  readonly due: string;
  readonly lastDue: string;
}

export interface CronAnswer {
  /** Markdown for people and models. */
  readonly text: string;
  readonly jobs: readonly JobFacts[];
  readonly runs: readonly RunFact[];
}

export interface CronServicePorts {
  readonly book: JobStore;
  readonly runs: CronRuns;
  readonly cron: CronScheduler;
  readonly clock: Clock;
  readonly machineZone: string;
}

const SHOWN_RUNS = 20;
const SHOWN_NEXT = 3;
const UTC = /^(?:UTC|GMT|Etc\/.*)$/u;

/** What people, the model and the command line do with the schedule. Throws one sentence when it cannot be done. */
export class CronService {
  readonly #ports: CronServicePorts;

  constructor(ports: CronServicePorts) {
    this.#ports = ports;
  }

  async add(by: CronCaller, wanted: NewJob): Promise<CronAnswer> {
    const { book, clock, cron } = this.#ports;
    await book.refresh();
    const { job, schedule } = this.#build(by, wanted);
    if (wanted.zone !== undefined && book.knownZone === null && by.role === 'owner') await book.setZone(wanted.zone);
    await book.add(job, { creator: by.creator, role: by.role }, clock.now());
    await cron.look();
    const times = this.#times(schedule);
    const text =
      times.length === 1
        ? `Set \`${job.id}\` for ${times[0] ?? ''}.`
        : `Set \`${job.id}\`: ${scheduleText(schedule, book.zone)}. The next runs: ${times.join(', ')}.`;
    return this.#answer(text, [this.#facts({ job, hash: hashOfJob(job), schedule, state: 'active', agreed: null })]);
  }

  async list(by: CronCaller): Promise<CronAnswer> {
    const { book } = this.#ports;
    await book.refresh();
    const mine = book.entries.filter((entry) => mayTouch(by, entry));
    const lines = mine.map((entry) => this.#line(entry));
    const broken =
      book.broken === null
        ? []
        : [`cron/jobs.json cannot be used (${book.broken.reason}): the jobs that were read last stay.`];
    const text = [...broken, ...(lines.length === 0 ? ['Nothing is scheduled.'] : lines)].join('\n');
    return this.#answer(
      text,
      mine.map((entry) => this.#facts(entry)),
    );
  }

  async show(by: CronCaller, id: string): Promise<CronAnswer> {
    const { book, runs } = this.#ports;
    await book.refresh();
    const entry = book.entry(id);
    const all = entry === undefined && by.role !== 'owner' ? [] : runs.runs(id, SHOWN_RUNS);
    if (entry === undefined && all.length === 0) throw this.#unknown(by, id);
    if (entry !== undefined && !mayTouch(by, entry)) throw this.#unknown(by, id);
    const head = entry === undefined ? [`\`${id}\` is over.`] : [this.#line(entry), entry.job.text];
    const past = all.map((run) => this.#runLine(run));
    const text = [...head, past.length === 0 ? 'It has not run yet.' : `Its last runs:\n${past.join('\n')}`].join(
      '\n\n',
    );
    return { text, jobs: entry === undefined ? [] : [this.#facts(entry)], runs: all.map((run) => this.#runFact(run)) };
  }

  async remove(by: CronCaller, id: string): Promise<CronAnswer> {
    const entry = await this.#own(by, id);
    await this.#ports.book.remove(id);
    await this.#ports.cron.look();
    return this.#answer(`\`${id}\` is removed.`, [this.#facts(entry)]);
  }

  /** With the `code` of what it is now a job that no one agreed to may run from then on; only an owner can say so. */
  async enable(by: CronCaller, id: string, code = ''): Promise<CronAnswer> {
    const { book, cron } = this.#ports;
    const entry = await this.#own(by, id);
    if (entry.state === 'waiting') {
      if (by.role !== 'owner') throw new AppError('cron-owner', 'Only the owner can let this job run.');
      if (code !== entry.hash) {
        const text = `${this.#line(entry)}\n\n${entry.job.text}\n\nIt was found in cron/jobs.json. \`/cron enable ${id} ${entry.hash}\` lets exactly this run.`;
        return this.#answer(text, [this.#facts(entry)]);
      }
      await book.agree(entry, by.creator);
    } else {
      await book.setEnabled(id, true);
    }
    await cron.look();
    const now = book.entry(id) ?? entry;
    return this.#answer(`\`${id}\` is on: ${this.#times(now.schedule).join(', ')}.`, [this.#facts(now)]);
  }

  async disable(by: CronCaller, id: string): Promise<CronAnswer> {
    await this.#own(by, id);
    const { book, cron } = this.#ports;
    await book.setEnabled(id, false);
    await cron.look();
    const entry = book.entry(id);
    return this.#answer(`\`${id}\` is off.`, entry === undefined ? [] : [this.#facts(entry)]);
  }

  async run(by: CronCaller, id: string): Promise<CronAnswer> {
    const entry = await this.#own(by, id);
    if (entry.agreed === null) throw new AppError('cron-waiting', `\`${id}\` waits for the owner: /cron enable ${id}.`);
    const ran = await this.#ports.cron.runNow(entry);
    if (!ran) throw new AppError('cron-busy', `\`${id}\` is running, or may not run any more.`);
    return this.#answer(`\`${id}\` runs now.`, [this.#facts(entry)]);
  }

  #build(by: CronCaller, wanted: NewJob): { readonly job: Job; readonly schedule: Schedule } {
    const { book, clock } = this.#ports;
    const { kind, text, session } = wanted;
    const zone = wanted.zone ?? book.zone;
    if (!isZone(zone)) throw refused(`There is no time zone ${JSON.stringify(zone)}: name one such as Europe/Vienna.`);
    if (text.trim() === '') throw refused('A job needs a text: what is to be said or done.');
    if (by.role !== 'owner' && kind === 'command') throw refused('Only the owner can schedule commands.');
    const chat = wanted.chat ?? by.chat;
    if (by.role !== 'owner' && chat !== by.chat)
      throw refused('Only the owner can schedule something for another chat.');
    const parsed = parseWhen(wanted.when, { now: clock.now(), zone });
    if (!parsed.ok) throw refused(parsed.reason);
    if (parsed.local && wanted.zone === undefined && book.knownZone === null && UTC.test(this.#ports.machineZone)) {
      throw refused(
        'The person’s time zone is not known (this machine runs on UTC). Ask the person where they are, then call again with their zone, such as "Europe/Vienna"; it is remembered.',
      );
    }
    const { schedule } = parsed;
    const taken = new Set(book.entries.map(({ job }) => job.id));
    const id = wanted.id ?? idFrom(text, taken);
    if (taken.has(id))
      throw refused(`There is a job ${JSON.stringify(id)} already: remove it first, or take another name.`);
    const job = jobSchema.safeParse({ id, kind, text, chat, session, ...this.#written(schedule, zone) });
    const problem = job.success ? problemOf(job.data, zone) : (job.error.issues[0]?.message ?? 'it has another shape');
    if (!job.success || problem !== null) throw refused(`That is no job: ${problem ?? ''}.`);
    return { job: job.data, schedule };
  }

  /** As it stands in the file. */
  #written(schedule: Schedule, zone: string): Pick<Job, 'at' | 'every' | 'from' | 'cron' | 'zone'> {
    switch (schedule.type) {
      case 'at':
        return { at: atText(schedule.at, zone) };
      case 'every':
        return { every: durationText(schedule.stepMs), from: atText(schedule.from, zone) };
      case 'cron':
        return { cron: schedule.expression, zone };
    }
  }

  async #own(by: CronCaller, id: string): Promise<StoredJob> {
    await this.#ports.book.refresh();
    const entry = this.#ports.book.entry(id);
    if (entry === undefined || !mayTouch(by, entry)) throw this.#unknown(by, id);
    return entry;
  }

  #unknown(by: CronCaller, id: string): AppError {
    const ids = this.#ports.book.entries.filter((entry) => mayTouch(by, entry)).map(({ job }) => job.id);
    const there = ids.length === 0 ? 'There are none.' : `There are: ${ids.join(', ')}.`;
    return new AppError('cron-unknown', `There is no job ${JSON.stringify(id.slice(0, 64))}. ${there}`);
  }

  #times(schedule: Schedule): readonly string[] {
    const { clock, book } = this.#ports;
    return nextRuns(schedule, clock.now(), SHOWN_NEXT).map((at) => localText(at, book.zone));
  }

  #line(entry: StoredJob): string {
    const { job, schedule, state } = entry;
    const [next] = this.#times(schedule);
    const when = state === 'active' && next !== undefined ? `next ${next}` : '';
    const how = state === 'waiting' ? `waits for the owner: /cron enable ${job.id}` : state === 'off' ? 'off' : when;
    const what = oneLine(job.text, 80).replaceAll('`', "'");
    return `- \`${job.id}\` ${job.kind}, ${scheduleText(schedule, this.#ports.book.zone)}, to ${job.chat}; ${how}: ${what}`;
  }

  #runLine({ dueAt, lastDue, count, execution, delivery, reason, lateMs }: CronRun): string {
    const { zone } = this.#ports.book;
    const due =
      count === 1 ? localText(dueAt, zone) : `${count} times, ${localText(dueAt, zone)} to ${localText(lastDue, zone)}`;
    const late = lateMs > 60_000 ? `, ${durationText(lateMs)} late` : '';
    const sent = delivery === 'none' ? '' : `, delivery: ${delivery}`;
    return `- ${due}: ${execution}${late}${sent}${reason === null ? '' : ` (${oneLine(reason, 200)})`}`;
  }

  #runFact(run: CronRun): RunFact {
    const { zone } = this.#ports.book;
    const { count, execution, delivery, reason, lateMs, turnId } = run;
    const due = isoIn(run.dueAt, zone);
    return { due, lastDue: isoIn(run.lastDue, zone), count, execution, delivery, reason, lateMs, turnId };
  }

  #facts({ job, hash, schedule, state, agreed }: StoredJob): JobFacts {
    const { clock, book } = this.#ports;
    const creator = agreed === null ? null : jobOwnerOf(agreed).creator;
    return {
      id: job.id,
      kind: job.kind,
      text: job.text,
      schedule: scheduleText(schedule, book.zone),
      chat: job.chat,
      session: job.session,
      state,
      by: creator === null ? null : `${creator.channel}:${creator.id}`,
      next: nextRuns(schedule, clock.now(), SHOWN_NEXT).map((at) => isoIn(at, book.zone)),
      code: hash,
    };
  }

  #answer(text: string, jobs: readonly JobFacts[]): CronAnswer {
    return { text, jobs, runs: [] };
  }
}

/** The owner may see and change all, others what they made. */
function mayTouch({ role, creator }: CronCaller, { agreed }: StoredJob): boolean {
  if (role === 'owner') return true;
  if (agreed === null) return false;
  const by = jobOwnerOf(agreed).creator;
  return by.channel === creator.channel && by.id === creator.id;
}

/** With milliseconds, which a file for people mostly does without. */
function atText(at: number, zone: string): string {
  const ms = ((at % 1_000) + 1_000) % 1_000;
  const iso = isoIn(at, zone);
  return ms === 0 ? iso : `${iso.slice(0, 19)}.${String(ms).padStart(3, '0')}${iso.slice(19)}`;
}

function refused(reason: string): AppError {
  return new AppError('cron-refused', reason);
}
