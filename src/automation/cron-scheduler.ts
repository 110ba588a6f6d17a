import type { InboundMessage, Role } from '../bus/messages.ts';
import type { CronRuns, Misses } from '../journal/cron-runs.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Logger } from '../util/log.ts';
import {
  jobAddressOf,
  jobSession,
  missedNotice,
  ON_TIME_MS,
  reminder,
  restoredNotice,
  runId,
  runRequest,
  type RunFacts,
} from './cron-message.ts';
import { dueNow, missedUpTo, type DueOptions, type MissedTimes } from './due.ts';
import type { JobCreator } from './job.ts';
import { jobOwnerOf, type StoredJob, type JobStore } from './job-store.ts';
import { nextRun } from './schedule.ts';

export interface CronSettings {
  readonly catchUp: 'once' | 'skip';
  readonly graceMinutes: number;
  readonly maxConcurrent: number;
}

/** What the scheduler needs from outside. */
export interface CronGates {
  /** The weaker of a creator's role then and now; null: they are not let in any more. */
  readonly roleOf: (creator: JobCreator, then: string) => Role | null;
  /** Only fixed texts are sent; what needs a model or a program waits. @default false */
  readonly onlyMessages?: boolean;
  /** Whether words for this channel are this process's business. */
  readonly reaches: (channel: string) => boolean;
  /** The session of the chat that this message would be written in. */
  readonly mainSession: (message: InboundMessage) => string;
  /** Messages of people wait for their turn. */
  readonly peopleWait: () => boolean;
  /** A reminder's text as people may see it; '' when it is refused. `run`: its id. @default as it is */
  readonly rendered?: (text: string, run: { readonly id: string; readonly session: string }) => Promise<string>;
}

export interface CronSchedulerPorts {
  readonly jobStore: JobStore;
  readonly runs: CronRuns;
  readonly clock: Clock;
  readonly log: Logger;
  readonly newId: () => string;
  readonly settings: CronSettings;
  readonly gates: CronGates;
  /** The longest that it sleeps. @default 60_000 */
  readonly longestSleepMs?: number;
  /** Tells the owner once for each id. */
  readonly tellOwner: (id: string, text: string) => Promise<void>;
}

const NOTHING_MS = 3_600_000;
/** The longest that it sleeps: a machine that slept, or a clock that was put, is noticed so soon. */
const LONGEST_SLEEP_MS = 60_000;
/** Between two runs that call a model. */
const STAGGER_MS = 5_000;
/** People go first, but not for longer. */
const PEOPLE_FIRST_MS = 60_000;
/** A run that waited for others counts as on time. */
const HELD_MS = 3_600_000;
const AFTER_ERROR_MS = 30_000;
const BACKOFF_MS = [30_000, 60_000, 300_000, 900_000, 3_600_000] as const;
const TELL_AFTER = 3;
const OFF_AFTER = 10;
const RESTORED = 'it may have run before the assistant was restored from a backup';
const REFUSED = 'a plugin refuses its text';

type Blocked = Pick<DueOptions, 'blockedFrom' | 'blockedUntil'>;
const NEVER: Blocked = { blockedUntil: 0 };

interface Candidate {
  readonly entry: StoredJob;
  readonly dueAt: number;
}

/** Publishes what is due, once for each due time, and writes down what was missed. */
export class CronScheduler {
  readonly #ports: CronSchedulerPorts;
  #timer: Disposable | undefined;
  #watching: Disposable | undefined;
  #ticking: Promise<void> | undefined;
  #again = false;
  #started = false;
  #stopped = false;
  /** By `Clock.monotonic`. */
  #startedAt = 0;
  /** By `Clock.now`. */
  #startedAtWall = 0;
  #lastStart = Number.NEGATIVE_INFINITY;
  #lookedAt: number | undefined;
  /** How long no one looked, without what the clock was put by and without sleep, ms. */
  #sinceLook = 0;
  /** Due times that wait for others to end. */
  readonly #held = new Map<string, number>();

  constructor(ports: CronSchedulerPorts) {
    this.#ports = ports;
  }

  /** Looks for the first time; what came due meanwhile is made up for. */
  async start(): Promise<void> {
    this.#started = true;
    this.#startedAt = this.#ports.clock.monotonic();
    this.#startedAtWall = this.#ports.clock.now();
    const { jobStore, log } = this.#ports;
    try {
      this.#watching = await jobStore.watch(() => void this.look());
    } catch (error) {
      log.warn('cron: cron/jobs.json cannot be watched, looking every minute', { reason: errorMessage(error) });
    }
    await this.look();
  }

  /** Looks now, once it was started; resolves when it did. Never throws. */
  async look(): Promise<void> {
    if (!this.#started || this.#stopped) return;
    if (this.#ticking !== undefined) {
      this.#again = true;
      await this.#ticking;
      return;
    }
    this.#ticking = this.#lookWhile();
    try {
      await this.#ticking;
    } finally {
      this.#ticking = undefined;
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.[Symbol.dispose]();
    this.#watching?.[Symbol.dispose]();
    await this.idle();
  }

  /** Resolves when it does nothing. */
  async idle(): Promise<void> {
    while (this.#ticking !== undefined) await this.#ticking;
  }

  /** Runs a job now, beside its schedule; false when it is running. */
  async runNow(entry: StoredJob): Promise<boolean> {
    const { clock, runs } = this.#ports;
    if (entry.agreed === null || runs.busy().includes(entry.job.id)) return false;
    const settled = entry.agreed.settled;
    const ran = await this.#fire({ entry, dueAt: clock.now() }, { last: false, asked: true });
    await runs.settle(entry.job.id, settled);
    return ran;
  }

  /** Jobs that came due up to `at` (ms since 1970) and are not settled. */
  async dueUpTo(at: number): Promise<readonly string[]> {
    return (await this.#openUpTo(at)).map(({ entry }) => entry.job.id);
  }

  /** Records what came due up to `at` as skipped: it may have run before the home was restored. */
  async skipRestored(at: number): Promise<void> {
    const { runs, clock, jobStore } = this.#ports;
    for (const { entry, first, last, count } of await this.#openUpTo(at)) {
      const { job, schedule } = entry;
      const once = schedule.type === 'at';
      const facts = { job, dueAt: last, now: clock.now(), zone: job.zone ?? jobStore.zone };
      const rows = [{ state: 'skipped' as const, first, last, count, reason: RESTORED }];
      await runs.miss(job.id, rows, { last: once, notice: once ? restoredNotice(facts) : undefined });
    }
    await jobStore.refresh();
  }

  async #openUpTo(at: number): Promise<readonly (MissedTimes & { readonly entry: StoredJob })[]> {
    const { jobStore, runs } = this.#ports;
    await jobStore.refresh();
    return jobStore.entries.flatMap((entry) => {
      const { job, schedule, state, agreed } = entry;
      if (state !== 'active' || agreed === null) return [];
      const after = Math.max(agreed.settled, runs.prunedUpTo(job.id));
      const taken = runs.takenAfter(job.id, after);
      return missedUpTo(schedule, { after, at, taken }).map((missed) => ({ ...missed, entry }));
    });
  }

  async #lookWhile(): Promise<void> {
    do {
      this.#again = false;
      let sleepMs = AFTER_ERROR_MS;
      try {
        sleepMs = await this.#tick();
      } catch (error) {
        this.#ports.log.error('cron: schedule failed', { reason: errorMessage(error) });
      }
      this.#timer?.[Symbol.dispose]();
      if (this.#isStopped()) return;
      this.#timer = this.#ports.clock.timer(
        Math.min(sleepMs, this.#ports.longestSleepMs ?? LONGEST_SLEEP_MS),
        () => void this.look(),
      );
    } while (this.#again);
  }

  #isStopped(): boolean {
    return this.#stopped;
  }

  /** Returns how long nothing is to be done, ms. */
  async #tick(): Promise<number> {
    const { jobStore, gates, clock } = this.#ports;
    await jobStore.refresh();
    const looksAt = clock.monotonic();
    this.#sinceLook = looksAt - (this.#lookedAt ?? looksAt);
    this.#lookedAt = looksAt;
    const active = jobStore.entries.filter(
      ({ state, job }) =>
        state === 'active' &&
        gates.reaches(jobAddressOf(job).channel) &&
        (gates.onlyMessages !== true || job.kind === 'message'),
    );
    const candidates: Candidate[] = [];
    let wait = NOTHING_MS;
    for (const entry of active) {
      if (this.#isStopped()) return wait;
      const looked = await this.#apart(entry, () => this.#lookAt(entry));
      if (looked?.candidate) candidates.push(looked.candidate);
      wait = Math.min(wait, looked?.waitMs ?? AFTER_ERROR_MS);
    }
    const wants = new Set(candidates.map(({ entry }) => entry.job.id));
    for (const id of this.#held.keys()) if (!wants.has(id)) this.#held.delete(id);
    for (const candidate of candidates.toSorted((a, b) => a.dueAt - b.dueAt)) {
      if (this.#isStopped()) return wait;
      wait = Math.min(wait, (await this.#apart(candidate.entry, () => this.#take(candidate))) ?? AFTER_ERROR_MS);
    }
    return wait;
  }

  /** Does something for one job. If that fails, the other jobs go on. */
  async #apart<T>({ job }: StoredJob, work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      this.#ports.log.error('cron: a job could not be looked at', { job: job.id, reason: errorMessage(error) });
      return null;
    }
  }

  /** Settles what a job missed; what it is to run now, and in how many ms the next is due. */
  async #lookAt(entry: StoredJob): Promise<{ readonly candidate: Candidate | null; readonly waitMs: number }> {
    const { clock, runs, settings } = this.#ports;
    const { schedule, job, agreed } = entry;
    if (agreed === null) return { candidate: null, waitMs: NOTHING_MS };
    const now = clock.now();
    const once = schedule.type === 'at';
    const blocked = once ? NEVER : await this.#blocked(entry);
    const { blockedUntil } = blocked;
    if (blockedUntil === Number.POSITIVE_INFINITY) return { candidate: null, waitMs: NOTHING_MS };
    const grace = settings.catchUp === 'once' ? settings.graceMinutes * 60_000 : 0;
    // A reminder is never too late to be told.
    const graceMs = once && job.kind === 'message' ? Number.POSITIVE_INFINITY : grace;
    const held = this.#held.has(job.id) ? HELD_MS : 0;
    // The clock was put back, at the earliest after the last look: what was taken is never taken again, the rest comes.
    const settled = agreed.settled > now ? now - Math.ceil(this.#sinceLook) : agreed.settled;
    const after = Math.max(settled, runs.prunedUpTo(job.id));
    if (after < agreed.settled) await runs.settle(job.id, after);
    const { missed, run, more } = dueNow(schedule, {
      after,
      now,
      onTimeMs: ON_TIME_MS,
      graceMs: Math.max(graceMs, held),
      ...blocked,
      taken: runs.takenAfter(job.id, after),
    });
    if (missed.length > 0) await this.#miss(entry, missed);
    if (more) return { candidate: null, waitMs: 0 };
    const next = nextRun(schedule, Math.max(now, blockedUntil - 1));
    return {
      candidate: run === null ? null : { entry, dueAt: run },
      waitMs: next === null ? NOTHING_MS : next - now,
    };
  }

  async #miss(entry: StoredJob, missed: readonly MissedTimes[]): Promise<void> {
    const { job, schedule } = entry;
    const { runs, clock, jobStore, log } = this.#ports;
    const once = schedule.type === 'at';
    const rows = missed.map(({ why, first, last, count }): Misses => ({
      state: why === 'late' ? 'missed' : 'skipped',
      first,
      last,
      count,
      reason: why === 'late' ? this.#whyLate(entry, last).reason : 'waiting after failures',
    }));
    const facts = (dueAt: number): RunFacts => ({ job, dueAt, now: clock.now(), zone: job.zone ?? jobStore.zone });
    const at = missed.at(-1)?.last ?? 0;
    await runs.miss(job.id, rows, {
      last: once,
      notice: once ? missedNotice(facts(at), this.#whyLate(entry, at).told) : undefined,
    });
    log.info('cron: runs missed', { job: job.id, runs: rows.reduce((sum, { count }) => sum + count, 0) });
    if (!once) return;
    await jobStore.refresh();
  }

  /** Why a due time passed without a run, as the journal keeps it and as a person is told. */
  #whyLate({ agreed }: StoredJob, dueAt: number): { readonly reason: string; readonly told: string } {
    const { since = 0 } = agreed ?? {};
    if (dueAt < since && since <= this.#ports.clock.now())
      return { reason: 'not approved at that time', told: 'it was not approved in time' };
    if (dueAt > this.#startedAtWall) {
      const reason = 'the machine was asleep or busy then, or its clock was put forward';
      return { reason, told: reason };
    }
    const isSkipped = this.#ports.settings.catchUp === 'skip';
    return {
      reason: 'not running at that time',
      told: `I was not running ${isSkipped ? 'then' : 'until it was too late'}`,
    };
  }

  /** Runs it if it may; how long to wait if it may not yet, ms. */
  async #take(candidate: Candidate): Promise<number> {
    const { entry, dueAt } = candidate;
    const { runs } = this.#ports;
    const { job } = entry;
    const last = entry.schedule.type === 'at';
    if (job.kind === 'message') {
      await this.#fire(candidate, { last });
      return NOTHING_MS;
    }
    const busy = runs.busy();
    if (busy.includes(job.id)) {
      const reason = 'the previous run had not ended';
      await runs.miss(job.id, [{ state: 'skipped', first: dueAt, last: dueAt, count: 1, reason }], { last });
      return NOTHING_MS;
    }
    const waitMs = this.#waitBefore(candidate, busy.length);
    if (waitMs > 0) {
      this.#held.set(job.id, dueAt);
      return waitMs;
    }
    this.#held.delete(job.id);
    if (await this.#fire(candidate, { last })) this.#lastStart = this.#ports.clock.monotonic();
    return NOTHING_MS;
  }

  #waitBefore({ dueAt }: Candidate, busy: number): number {
    const { clock, settings, gates } = this.#ports;
    const lateMs = clock.now() - dueAt;
    // The end of a run wakes this loop.
    if (busy >= settings.maxConcurrent) return NOTHING_MS;
    const at = clock.monotonic();
    const made = lateMs > ON_TIME_MS ? this.#startedAt : Number.NEGATIVE_INFINITY;
    const wait = Math.max(this.#lastStart, made) + STAGGER_MS - at;
    if (wait > 0) return wait;
    return lateMs < PEOPLE_FIRST_MS && gates.peopleWait() ? STAGGER_MS : 0;
  }

  /** Takes the due time and queues what it does; false when it was taken before or may not run. */
  async #fire(
    { entry, dueAt }: Candidate,
    { last, asked = false }: { readonly last: boolean; readonly asked?: boolean },
  ): Promise<boolean> {
    const { runs, gates, clock, jobStore, newId } = this.#ports;
    const { job, agreed } = entry;
    if (agreed === null) return false;
    const { creator, role: then } = jobOwnerOf(agreed);
    const role = gates.roleOf(creator, then);
    if (role === null || (job.kind === 'command' && role !== 'owner')) {
      await this.#mayNot(entry, dueAt);
      return false;
    }
    const facts = { job, dueAt, now: clock.now(), zone: job.zone ?? jobStore.zone };
    const claim = { job: job.id, dueAt, lateMs: facts.now - dueAt, last };
    if (job.kind === 'message') {
      const run = { id: runId(job.id, dueAt), session: jobSession(job.id) };
      const text = gates.rendered === undefined ? job.text : await gates.rendered(job.text, run);
      if (text.trim() === '') {
        await runs.miss(job.id, [{ state: 'skipped', first: dueAt, last: dueAt, count: 1, reason: REFUSED }], { last });
        return false;
      }
      const taken = await runs.claim({ ...claim, outbound: reminder({ ...facts, job: { ...job, text } }) });
      if (last) await jobStore.refresh();
      return taken;
    }
    const own = runRequest(facts, { id: newId(), creator, role, sessionKey: jobSession(job.id), isLast: last, asked });
    const inbound = job.session === 'main' ? { ...own, sessionKey: gates.mainSession(own) } : own;
    const taken = await runs.claim({ ...claim, inbound });
    if (last) await jobStore.refresh();
    return taken;
  }

  async #mayNot({ job, hash }: StoredJob, dueAt: number): Promise<void> {
    const { runs, jobStore, tellOwner } = this.#ports;
    const reason = 'the person who created it may no longer do this';
    await runs.miss(job.id, [{ state: 'skipped', first: dueAt, last: dueAt, count: 1, reason }], { last: false });
    await jobStore.setEnabled(job.id, false);
    await tellOwner(`cron-role:${job.id}:${hash}`, `I switched the job \`${job.id}\` off: ${reason}.`);
  }

  /**
   * The time in which a failed job is paused, ms since 1970. After repeated failures the owner is told and the job switched
   * off.
   */
  async #blocked({ job, agreed }: StoredJob): Promise<Blocked> {
    const { runs, jobStore, tellOwner, clock } = this.#ports;
    const { count, newest } = runs.failures(job.id, agreed?.since ?? 0);
    if (count === 0) return NEVER;
    if (count >= OFF_AFTER) {
      await jobStore.setEnabled(job.id, false);
      const text = `The job \`${job.id}\` failed ${count} times in a row, so I switched it off. \`/cron show ${job.id}\` says why, \`/cron run ${job.id}\` runs it once more, and \`/cron enable ${job.id}\` switches it on again.`;
      await tellOwner(`cron-off:${job.id}:${newest}`, text);
      return { blockedFrom: newest, blockedUntil: Number.POSITIVE_INFINITY };
    }
    if (count === TELL_AFTER) {
      const text = `The job \`${job.id}\` failed ${count} times in a row. \`/cron show ${job.id}\` says why, and \`/cron run ${job.id}\` runs it now; after ${OFF_AFTER} failures I switch it off.`;
      await tellOwner(`cron-failing:${job.id}:${newest}`, text);
    }
    // The clock was put back since, by nobody knows how much.
    if (newest > clock.now()) return NEVER;
    return { blockedFrom: newest, blockedUntil: newest + (BACKOFF_MS[Math.min(count, BACKOFF_MS.length) - 1] ?? 0) };
  }
}
