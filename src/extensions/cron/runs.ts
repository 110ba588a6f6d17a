import type { Clock, InboundMessage, OutboundMessage } from '../../core/api.ts';
import type { Journal } from '../../core/api-tables.ts';
import { EXECUTIONS, RUNS, toJob, toRun, type AgreedJob, type CronRun } from './rows.ts';

/** Due times in a row that did not run, for one reason. `first` and `last` are ms since 1970. */
export interface Misses {
  readonly state: 'missed' | 'skipped';
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly reason: string;
}

/** One due time of a job, with the message that it publishes. */
export interface Claim {
  readonly job: string;
  readonly dueAt: number;
  readonly lateMs: number;
  /** The message that begins a turn for the job; or `outbound`, the text that is sent without a turn. */
  readonly inbound?: InboundMessage;
  readonly outbound?: OutboundMessage;
  /** True when the job has no later due time, so that it ends with this run. */
  readonly last: boolean;
}

type Ports = Pick<Journal, 'db' | 'inbox' | 'outbox'> & { readonly clock: Clock };

/** Journal of scheduled jobs: which of them were agreed to, and what became of each due time. */
export class CronRuns {
  readonly #ports: Ports;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Jobs that were agreed to and have not ended, also if they are switched off. */
  jobs(): readonly AgreedJob[] {
    return this.#ports.db.all("SELECT * FROM cron_job WHERE state = 'active' ORDER BY id").map(toJob);
  }

  /** A job by its id, even if it has ended; undefined when there was none or its row is pruned. */
  job(id: string): AgreedJob | undefined {
    return this.#ports.db.all('SELECT * FROM cron_job WHERE id = ?', id).map(toJob)[0];
  }

  /** Whether the job with this definition (`hash`) has had its last run. */
  isOver(id: string, hash: string): boolean {
    return (
      this.#ports.db.get("SELECT 1 FROM cron_job WHERE id = ? AND hash = ? AND state = 'over'", id, hash) !== undefined
    );
  }

  /** Stores that a job may run with this definition. Replaces an earlier agreement of the same id. */
  agree(job: AgreedJob): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        `INSERT OR REPLACE INTO cron_job (id, hash, definition, role, creator, enabled, settled, since, state, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'active', ?)`,
        job.id,
        job.hash,
        job.definition,
        job.role,
        job.creator,
        job.enabled ? 1 : 0,
        job.settled,
        job.since,
        clock.now(),
      );
    });
  }

  /** Switches a job on or off. Due times up to `settled` (ms since 1970) no longer count, nor do failures until now. */
  enable(id: string, enabled: boolean, settled: number): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      db.run(
        `UPDATE cron_job SET enabled = ?, settled = max(settled, ?), since = ?, updated_at = ? WHERE id = ?`,
        enabled ? 1 : 0,
        settled,
        clock.now(),
        clock.now(),
        id,
      );
    });
  }

  /** Ends the agreement of these jobs: they may not run any more. */
  forget(ids: readonly string[]): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      for (const id of ids) {
        db.run("UPDATE cron_job SET state = 'removed', updated_at = ? WHERE id = ?", clock.now(), id);
      }
    });
  }

  /**
   * Ends what runs or waits for a job that was removed; nothing if `by`, the turn that asks for it, is one of its own. Returns
   * the ids of the turns that have to be aborted.
   */
  endRuns(job: string, by: string | null): Promise<readonly string[]> {
    const { db, inbox } = this.#ports;
    return db.write(() => {
      const ids = db
        .all('SELECT inbound_id FROM cron_run WHERE job = ? AND inbound_id IS NOT NULL', job)
        .map((row) => row.text('inbound_id'));
      return inbox.endWork(ids, { by, reason: 'the job was removed' });
    });
  }

  /**
   * Claims a due time and queues its message, in one transaction. False when it was claimed before: then nothing is queued. A
   * due time that was recorded as missed can be claimed, if the clock was set back and it comes again.
   */
  claim({ job, dueAt, lateMs, inbound, outbound, last }: Claim): Promise<boolean> {
    const { db, clock, inbox, outbox } = this.#ports;
    return db.write(() => {
      if (dueAt <= this.prunedUpTo(job)) return false;
      const taken = db.run(
        `INSERT INTO cron_run (job, due_at, last_due, count, state, inbound_id, outbound_id, late_ms, at)
         VALUES (?1, ?2, ?2, 1, 'claimed', ?3, ?4, ?5, ?6)
         ON CONFLICT (job, due_at) DO UPDATE SET state = 'claimed', last_due = due_at, count = 1, reason = NULL,
           inbound_id = ?3, outbound_id = ?4, late_ms = ?5, at = ?6 WHERE state <> 'claimed'`,
        job,
        dueAt,
        inbound?.id ?? null,
        outbound?.id ?? null,
        Math.max(0, Math.round(lateMs)),
        clock.now(),
      );
      this.#settle(job, dueAt);
      if (taken === 0) return false;
      if (inbound !== undefined) inbox.enqueueInternal(inbound);
      if (outbound !== undefined) outbox.insert({ message: outbound, parts: [] });
      if (last) this.#end(job);
      return true;
    });
  }

  /** Records due times that did not run. `notice` is queued for the person; with `last` the job ends. */
  miss(
    job: string,
    misses: readonly Misses[],
    { last, notice }: { readonly last: boolean; readonly notice?: OutboundMessage },
  ): Promise<void> {
    const { db, outbox } = this.#ports;
    return db.write(() => {
      for (const miss of misses) this.#miss(job, miss);
      if (notice !== undefined) outbox.insert({ message: notice, parts: [] });
      if (last) this.#end(job);
    });
  }

  /** Stores that all due times up to `settled` (ms since 1970) ran or were missed. */
  settle(job: string, settled: number): Promise<void> {
    return this.#ports.db.write(() => this.#settle(job, settled));
  }

  /** Due times later than `after` that are already claimed. There are some only if the clock was set back. */
  takenAfter(job: string, after: number): ReadonlySet<number> {
    return new Set(
      this.#ports.db
        .all("SELECT due_at FROM cron_run WHERE job = ? AND due_at > ? AND state = 'claimed'", job, after)
        .map((row) => row.number('due_at')),
    );
  }

  /** Rows of due times up to this one are pruned, and none of them may run again. Ms since 1970; 0: none is pruned. */
  prunedUpTo(job: string): number {
    return this.#ports.db.get('SELECT due_at FROM cron_pruned WHERE job = ?', job)?.number('due_at') ?? 0;
  }

  /** The runs of one job, newest first. */
  runs(job: string, limit: number): readonly CronRun[] {
    return this.#ports.db.all(`${RUNS} WHERE run.job = ? ORDER BY run.due_at DESC LIMIT ?`, job, limit).map(toRun);
  }

  /** The runs of all jobs, newest first. */
  newest(limit: number): readonly CronRun[] {
    return this.#ports.db
      .all(
        `${RUNS} WHERE (run.job, run.due_at) IN (SELECT job, due_at FROM cron_run ORDER BY at DESC LIMIT ?)
         ORDER BY run.at DESC`,
        limit,
      )
      .map(toRun);
  }

  /** Ids of the jobs that have a run whose turn waits or is running. */
  busy(): readonly string[] {
    return this.#ports.db
      .all(
        `SELECT DISTINCT run.job AS job FROM core_messages AS inbound CROSS JOIN cron_run AS run ON run.inbound_id = inbound.id
         WHERE inbound.state IN ('accepted', 'running') AND run.state = 'claimed'`,
      )
      .map((row) => row.text('job'));
  }

  /** Counts the failures in a row up to the newest ended run, no further back than `since`. `newest`: when that run ended. */
  failures(job: string, since: number): { readonly count: number; readonly newest: number } {
    const { db, clock } = this.#ports;
    const ended = db
      .all(
        // By ids, which go on growing when the clock is put back.
        `${EXECUTIONS} WHERE run.job = ? AND run.state = 'claimed' AND run.at >= ? ORDER BY run.inbound_id DESC LIMIT 50`,
        job,
        // The clock was put back since.
        since > clock.now() ? 0 : since,
      )
      .map(toRun)
      .filter(({ execution }) => execution !== 'waiting' && execution !== 'running' && execution !== 'stopped');
    const good = ended.findIndex(({ execution }) => execution !== 'failed');
    return { count: good === -1 ? ended.length : good, newest: ended[0]?.at ?? 0 };
  }

  /** Stores that the run of this turn sends no answer, and why. False when the turn does not belong to a job. */
  silence(turnId: string, reason: string): Promise<boolean> {
    const { db } = this.#ports;
    return db.write(
      () =>
        db.run(
          'UPDATE cron_run SET reason = ? WHERE inbound_id IN (SELECT id FROM core_messages AS inbound WHERE turn_id = ?)',
          reason,
          turnId,
        ) > 0,
    );
  }

  /** The reason given to `silence` for this turn; null when it was not silenced. */
  silenced(turnId: string): string | null {
    const row = this.#ports.db.get(
      `SELECT reason FROM cron_run WHERE reason IS NOT NULL AND inbound_id IN (SELECT id FROM core_messages AS inbound WHERE turn_id = ?)`,
      turnId,
    );
    return row?.textOrNull('reason') ?? null;
  }

  /** Records misses; extends the newest row if that has the same state and reason. */
  #miss(job: string, { state, first, last, count, reason }: Misses): void {
    const { db, clock } = this.#ports;
    const newest = db.get(
      'SELECT due_at, last_due, state, reason FROM cron_run WHERE job = ? ORDER BY due_at DESC LIMIT 1',
      job,
    );
    const isContinued =
      newest !== undefined &&
      newest.text('state') === state &&
      newest.textOrNull('reason') === reason &&
      newest.number('last_due') < first;
    if (isContinued) {
      db.run(
        'UPDATE cron_run SET last_due = ?, count = count + ?, at = ? WHERE job = ? AND due_at = ?',
        last,
        count,
        clock.now(),
        job,
        newest.number('due_at'),
      );
    } else {
      db.run(
        `INSERT INTO cron_run (job, due_at, last_due, count, state, reason, late_ms, at)
         VALUES (?, ?, ?, ?, ?, ?, 0, ?)
         ON CONFLICT (job, due_at) DO UPDATE SET last_due = max(last_due, excluded.last_due),
           count = max(count, excluded.count) WHERE state <> 'claimed'`,
        job,
        first,
        last,
        count,
        state,
        reason,
        clock.now(),
      );
    }
    this.#settle(job, last);
  }

  #settle(job: string, settled: number): void {
    this.#ports.db.run('UPDATE cron_job SET settled = ? WHERE id = ?', settled, job);
  }

  #end(job: string): void {
    const { db, clock } = this.#ports;
    db.run("UPDATE cron_job SET state = 'over', updated_at = ? WHERE id = ?", clock.now(), job);
  }
}
