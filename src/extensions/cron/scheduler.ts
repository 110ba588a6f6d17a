import { type App, errorMessage, type InboundMessage } from '../../core/api.ts';
import type { CronRuns, Misses } from './runs.ts';
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
} from './message.ts';
import { dueNow, missedUpTo, type DueOptions, type MissedTimes } from './due.ts';
import { cron as settings } from './settings.ts';
import { jobOwnerOf, type StoredJob, type JobStore } from './job-store.ts';
import { nextRun } from './schedule.ts';

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
  readonly #app: App;
  readonly #jobs: JobStore;
  readonly #runs: CronRuns;
  readonly #longestSleepMs: number;
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

  constructor(
    app: App,
    jobs: JobStore,
    { runs, longestSleepMs = LONGEST_SLEEP_MS }: { readonly runs: CronRuns; readonly longestSleepMs?: number },
  ) {
    this.#app = app;
    this.#jobs = jobs;
    this.#runs = runs;
    this.#longestSleepMs = longestSleepMs;
  }

  /** Looks for the first time; what came due meanwhile is made up for. */
  async start(): Promise<void> {
    this.#started = true;
    this.#startedAt = this.#app.clock.monotonic();
    this.#startedAtWall = this.#app.clock.now();
    const { log } = this.#app;
    try {
      this.#watching = await this.#jobs.watch(() => void this.look());
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
    const { clock } = this.#app;
    if (entry.agreed === null || this.#runs.busy().includes(entry.job.id)) return false;
    const settled = entry.agreed.settled;
    const ran = await this.#fire({ entry, dueAt: clock.now() }, { last: false, asked: true });
    await this.#runs.settle(entry.job.id, settled);
    return ran;
  }

  /** Jobs that came due up to `at` (ms since 1970) and are not settled. */
  async dueUpTo(at: number): Promise<readonly string[]> {
    return (await this.#openUpTo(at)).map(({ entry }) => entry.job.id);
  }

  /** Records what came due up to `at` as skipped: it may have run before the home was restored. */
  async skipRestored(at: number): Promise<void> {
    const { clock } = this.#app;
    for (const { entry, first, last, count } of await this.#openUpTo(at)) {
      const { job, schedule } = entry;
      const once = schedule.type === 'at';
      const facts = { job, dueAt: last, now: clock.now(), zone: job.zone ?? this.#jobs.zone };
      const rows = [{ state: 'skipped' as const, first, last, count, reason: RESTORED }];
      await this.#runs.miss(job.id, rows, { last: once, notice: once ? restoredNotice(facts) : undefined });
    }
    await this.#jobs.refresh();
  }

  async #openUpTo(at: number): Promise<readonly (MissedTimes & { readonly entry: StoredJob })[]> {
    await this.#jobs.refresh();
    return this.#jobs.entries.flatMap((entry) => {
      const { job, schedule, state, agreed } = entry;
      if (state !== 'active' || agreed === null) return [];
      const after = Math.max(agreed.settled, this.#runs.prunedUpTo(job.id));
      const taken = this.#runs.takenAfter(job.id, after);
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
        this.#app.log.error('cron: schedule failed', { reason: errorMessage(error) });
      }
      this.#timer?.[Symbol.dispose]();
      if (this.#isStopped()) return;
      this.#timer = this.#app.clock.timer(Math.min(sleepMs, this.#longestSleepMs), () => void this.look());
    } while (this.#again);
  }

  #isStopped(): boolean {
    return this.#stopped;
  }

  /** Returns how long nothing is to be done, ms. */
  async #tick(): Promise<number> {
    const { clock } = this.#app;
    await this.#jobs.refresh();
    const looksAt = clock.monotonic();
    this.#sinceLook = looksAt - (this.#lookedAt ?? looksAt);
    this.#lookedAt = looksAt;
    const active = this.#jobs.entries.filter(
      ({ state, job }) =>
        state === 'active' && this.#reaches(jobAddressOf(job).channel) && (!this.#app.safe || job.kind === 'message'),
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
      this.#app.log.error('cron: a job could not be looked at', { job: job.id, reason: errorMessage(error) });
      return null;
    }
  }

  /** Settles what a job missed; what it is to run now, and in how many ms the next is due. */
  async #lookAt(entry: StoredJob): Promise<{ readonly candidate: Candidate | null; readonly waitMs: number }> {
    const { clock } = this.#app;
    const { schedule, job, agreed } = entry;
    if (agreed === null) return { candidate: null, waitMs: NOTHING_MS };
    const now = clock.now();
    const once = schedule.type === 'at';
    const blocked = once ? NEVER : await this.#blocked(entry);
    const { blockedUntil } = blocked;
    if (blockedUntil === Number.POSITIVE_INFINITY) return { candidate: null, waitMs: NOTHING_MS };
    const { catchUp, graceMinutes } = this.#app.settingsOf(settings);
    const grace = catchUp === 'once' ? graceMinutes * 60_000 : 0;
    // A reminder is never too late to be told.
    const graceMs = once && job.kind === 'message' ? Number.POSITIVE_INFINITY : grace;
    const held = this.#held.has(job.id) ? HELD_MS : 0;
    // The clock was put back, at the earliest after the last look: what was taken is never taken again, the rest comes.
    const settled = agreed.settled > now ? now - Math.ceil(this.#sinceLook) : agreed.settled;
    const after = Math.max(settled, this.#runs.prunedUpTo(job.id));
    if (after < agreed.settled) await this.#runs.settle(job.id, after);
    const { missed, run, more } = dueNow(schedule, {
      after,
      now,
      onTimeMs: ON_TIME_MS,
      graceMs: Math.max(graceMs, held),
      ...blocked,
      taken: this.#runs.takenAfter(job.id, after),
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
    const { clock, log } = this.#app;
    const once = schedule.type === 'at';
    const rows = missed.map(({ why, first, last, count }): Misses => ({
      state: why === 'late' ? 'missed' : 'skipped',
      first,
      last,
      count,
      reason: why === 'late' ? this.#whyLate(entry, last).reason : 'waiting after failures',
    }));
    const facts = (dueAt: number): RunFacts => ({ job, dueAt, now: clock.now(), zone: job.zone ?? this.#jobs.zone });
    const at = missed.at(-1)?.last ?? 0;
    await this.#runs.miss(job.id, rows, {
      last: once,
      notice: once ? missedNotice(facts(at), this.#whyLate(entry, at).told) : undefined,
    });
    log.info('cron: runs missed', { job: job.id, runs: rows.reduce((sum, { count }) => sum + count, 0) });
    if (!once) return;
    await this.#jobs.refresh();
  }

  /** Why a due time passed without a run, as the journal keeps it and as a person is told. */
  #whyLate({ agreed }: StoredJob, dueAt: number): { readonly reason: string; readonly told: string } {
    const { since = 0 } = agreed ?? {};
    if (dueAt < since && since <= this.#app.clock.now())
      return { reason: 'not approved at that time', told: 'it was not approved in time' };
    if (dueAt > this.#startedAtWall) {
      const reason = 'the machine was asleep or busy then, or its clock was put forward';
      return { reason, told: reason };
    }
    const isSkipped = this.#app.settingsOf(settings).catchUp === 'skip';
    return {
      reason: 'not running at that time',
      told: `I was not running ${isSkipped ? 'then' : 'until it was too late'}`,
    };
  }

  /** Runs it if it may; how long to wait if it may not yet, ms. */
  async #take(candidate: Candidate): Promise<number> {
    const { entry, dueAt } = candidate;
    const { job } = entry;
    const last = entry.schedule.type === 'at';
    if (job.kind === 'message') {
      await this.#fire(candidate, { last });
      return NOTHING_MS;
    }
    const busy = this.#runs.busy();
    if (busy.includes(job.id)) {
      const reason = 'the previous run had not ended';
      await this.#runs.miss(job.id, [{ state: 'skipped', first: dueAt, last: dueAt, count: 1, reason }], { last });
      return NOTHING_MS;
    }
    const waitMs = this.#waitBefore(candidate, busy.length);
    if (waitMs > 0) {
      this.#held.set(job.id, dueAt);
      return waitMs;
    }
    this.#held.delete(job.id);
    if (await this.#fire(candidate, { last })) this.#lastStart = this.#app.clock.monotonic();
    return NOTHING_MS;
  }

  #waitBefore({ dueAt }: Candidate, busy: number): number {
    const { clock } = this.#app;
    const lateMs = clock.now() - dueAt;
    // The end of a run wakes this loop.
    if (busy >= this.#app.settingsOf(settings).maxConcurrent) return NOTHING_MS;
    const at = clock.monotonic();
    const made = lateMs > ON_TIME_MS ? this.#startedAt : Number.NEGATIVE_INFINITY;
    const wait = Math.max(this.#lastStart, made) + STAGGER_MS - at;
    if (wait > 0) return wait;
    return lateMs < PEOPLE_FIRST_MS && (this.#app.journal.inbox.counts()['accepted'] ?? 0) > 0 ? STAGGER_MS : 0;
  }

  /** Takes the due time and queues what it does; false when it was taken before or may not run. */
  async #fire(
    { entry, dueAt }: Candidate,
    { last, asked = false }: { readonly last: boolean; readonly asked?: boolean },
  ): Promise<boolean> {
    const { clock, newId } = this.#app;
    const { job, agreed } = entry;
    if (agreed === null) return false;
    const { creator, role: then } = jobOwnerOf(agreed);
    const role = this.#app.people.roleNow(creator, then);
    if (role === null || (job.kind === 'command' && role !== 'owner')) {
      await this.#mayNot(entry, dueAt);
      return false;
    }
    const facts = { job, dueAt, now: clock.now(), zone: job.zone ?? this.#jobs.zone };
    const claim = { job: job.id, dueAt, lateMs: facts.now - dueAt, last };
    if (job.kind === 'message') {
      const run = { turnId: runId(job.id, dueAt), sessionKey: jobSession(job.id), messages: [] };
      const text = await this.#app.rendered(job.text, run);
      if (text.trim() === '') {
        await this.#runs.miss(job.id, [{ state: 'skipped', first: dueAt, last: dueAt, count: 1, reason: REFUSED }], {
          last,
        });
        return false;
      }
      const taken = await this.#runs.claim({ ...claim, outbound: reminder({ ...facts, job: { ...job, text } }) });
      if (last) await this.#jobs.refresh();
      return taken;
    }
    const own = runRequest(facts, { id: newId(), creator, role, sessionKey: jobSession(job.id), isLast: last, asked });
    const inbound = job.session === 'main' ? { ...own, sessionKey: this.#mainSession(own) } : own;
    const taken = await this.#runs.claim({ ...claim, inbound });
    if (last) await this.#jobs.refresh();
    return taken;
  }

  /** A terminal's own process sends nothing to platforms: that is left to the gateway. */
  #reaches(channel: string): boolean {
    return this.#app.serving || channel === 'terminal';
  }

  /** The session of the chat that this message would be written in. */
  #mainSession(message: InboundMessage): string {
    const { id: _, sessionKey: __, ...draft } = message;
    return this.#app.bus.sessionOf({ ...draft, origin: 'user' });
  }

  async #mayNot({ job, hash }: StoredJob, dueAt: number): Promise<void> {
    const reason = 'the person who created it may no longer do this';
    await this.#runs.miss(job.id, [{ state: 'skipped', first: dueAt, last: dueAt, count: 1, reason }], { last: false });
    await this.#jobs.setEnabled(job.id, false);
    await this.#app.notices.tell(`cron-role:${job.id}:${hash}`, `I switched the job \`${job.id}\` off: ${reason}.`);
  }

  /**
   * The time in which a failed job is paused, ms since 1970. After repeated failures the owner is told and the job switched
   * off.
   */
  async #blocked({ job, agreed }: StoredJob): Promise<Blocked> {
    const { clock } = this.#app;
    const { count, newest } = this.#runs.failures(job.id, agreed?.since ?? 0);
    if (count === 0) return NEVER;
    if (count >= OFF_AFTER) {
      await this.#jobs.setEnabled(job.id, false);
      const text = `The job \`${job.id}\` failed ${count} times in a row, so I switched it off. \`/cron show ${job.id}\` says why, \`/cron run ${job.id}\` runs it once more, and \`/cron enable ${job.id}\` switches it on again.`;
      await this.#app.notices.tell(`cron-off:${job.id}:${newest}`, text);
      return { blockedFrom: newest, blockedUntil: Number.POSITIVE_INFINITY };
    }
    if (count === TELL_AFTER) {
      const text = `The job \`${job.id}\` failed ${count} times in a row. \`/cron show ${job.id}\` says why, and \`/cron run ${job.id}\` runs it now; after ${OFF_AFTER} failures I switch it off.`;
      await this.#app.notices.tell(`cron-failing:${job.id}:${newest}`, text);
    }
    // The clock was put back since, by nobody knows how much.
    if (newest > clock.now()) return NEVER;
    return { blockedFrom: newest, blockedUntil: newest + (BACKOFF_MS[Math.min(count, BACKOFF_MS.length) - 1] ?? 0) };
  }
}
