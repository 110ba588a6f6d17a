import type { InboundMessage, OutboundMessage } from '../bus/messages.ts';
import { EXECUTIONS, RUNS, toJob, toRun, type AgreedJob, type CronRun } from './cron-rows.ts';
import type { Inbox } from './inbox.ts';
import type { Outbox } from './outbox.ts';
import type { JournalPorts } from './rows.ts';

/** Due times that did not run. */
export interface Misses {
  readonly state: 'missed' | 'skipped';
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly reason: string;
}

export interface Claim {
  readonly job: string;
  readonly dueAt: number;
  readonly lateMs: number;
  /** What it says, or what asks for its turn. */
  readonly inbound?: InboundMessage;
  readonly outbound?: OutboundMessage;
  /** A job that is over afterwards. */
  readonly last: boolean;
}

type CronPorts = JournalPorts & { readonly inbox: Inbox; readonly outbox: Outbox };

/** Which jobs may run, and what became of each due time. */
export class CronRuns {
  readonly #ports: CronPorts;

  constructor(ports: CronPorts) {
    this.#ports = ports;
  }

  /** Jobs that may run, also those that are switched off. */
  jobs(): readonly AgreedJob[] {
    return this.#ports.db.all("SELECT * FROM cron_job WHERE state = 'active' ORDER BY id").map(toJob);
  }

  /** The job, also after its end; undefined: there never was one, or it is long ago. */
  job(id: string): AgreedJob | undefined {
    return this.#ports.db.all('SELECT * FROM cron_job WHERE id = ?', id).map(toJob)[0];
  }

  /** It has run for the last time, as this definition. */
  isOver(id: string, hash: string): boolean {
    return (
      this.#ports.db.get("SELECT 1 FROM cron_job WHERE id = ? AND hash = ? AND state = 'over'", id, hash) !== undefined
    );
  }

  /** From now on this may run as it is. */
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

  /** Switched on again it begins anew at `settled`, with its failures forgiven. */
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

  /** The agreement ends. */
  forget(ids: readonly string[]): Promise<void> {
    const { db, clock } = this.#ports;
    return db.write(() => {
      for (const id of ids) {
        db.run("UPDATE cron_job SET state = 'removed', updated_at = ? WHERE id = ?", clock.now(), id);
      }
    });
  }

  /**
   * Takes a due time and queues what it does, in one transaction. False when it was taken before: then nothing is
   * queued. One that was missed may be taken when its time comes again.
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

  /** Writes down what did not run; `replies` tells the person, `last`: the job is over. */
  miss(
    job: string,
    misses: readonly Misses[],
    { last, notice }: { readonly last: boolean; readonly notice?: OutboundMessage | undefined },
  ): Promise<void> {
    const { db, outbox } = this.#ports;
    return db.write(() => {
      for (const miss of misses) this.#miss(job, miss);
      if (notice !== undefined) outbox.insert({ message: notice, parts: [] });
      if (last) this.#end(job);
    });
  }

  /** Nothing more is due before this. */
  settle(job: string, settled: number): Promise<void> {
    return this.#ports.db.write(() => this.#settle(job, settled));
  }

  /** Due times after a moment that were taken already: some only if the clock was put back. */
  takenAfter(job: string, after: number): ReadonlySet<number> {
    return new Set(
      this.#ports.db
        .all("SELECT due_at FROM cron_run WHERE job = ? AND due_at > ? AND state = 'claimed'", job, after)
        .map((row) => row.number('due_at')),
    );
  }

  /** Due times up to here were settled, and their rows are not kept any more; ms since 1970, 0: none were. */
  prunedUpTo(job: string): number {
    return this.#ports.db.get('SELECT due_at FROM cron_pruned WHERE job = ?', job)?.number('due_at') ?? 0;
  }

  /** Newest first. */
  runs(job: string, limit: number): readonly CronRun[] {
    return this.#ports.db.all(`${RUNS} WHERE run.job = ? ORDER BY run.due_at DESC LIMIT ?`, job, limit).map(toRun);
  }

  /** Of all jobs, newest first. */
  newest(limit: number): readonly CronRun[] {
    return this.#ports.db
      .all(
        `${RUNS} WHERE (run.job, run.due_at) IN (SELECT job, due_at FROM cron_run ORDER BY at DESC LIMIT ?)
         ORDER BY run.at DESC`,
        limit,
      )
      .map(toRun);
  }

  /** Jobs whose run waits for its turn or is at work. */
  busy(): readonly string[] {
    return this.#ports.db
      .all(
        `SELECT DISTINCT run.job AS job FROM inbound CROSS JOIN cron_run AS run ON run.inbound_id = inbound.id
         WHERE inbound.state IN ('accepted', 'running') AND run.state = 'claimed'`,
      )
      .map((row) => row.text('job'));
  }

  /** Failures in a row since a time, up to the newest run that ended; and when that was. */
  failures(job: string, since: number): { readonly count: number; readonly newest: number } {
    const ended = this.#ports.db
      .all(
        `${EXECUTIONS} WHERE run.job = ? AND run.state = 'claimed' AND run.at >= ? ORDER BY run.at DESC LIMIT 50`,
        job,
        since,
      )
      .map(toRun)
      .filter(({ execution }) => execution !== 'waiting' && execution !== 'running' && execution !== 'stopped');
    const good = ended.findIndex(({ execution }) => execution !== 'failed');
    return { count: good === -1 ? ended.length : good, newest: ended[0]?.at ?? 0 };
  }

  /** The run that a turn carries out decided to say nothing; false when the turn is no run. */
  silence(turnId: string, reason: string): Promise<boolean> {
    const { db } = this.#ports;
    return db.write(
      () =>
        db.run(
          'UPDATE cron_run SET reason = ? WHERE inbound_id IN (SELECT id FROM inbound WHERE turn_id = ?)',
          reason,
          turnId,
        ) > 0,
    );
  }

  /** Why a turn says nothing; null: it may. */
  silenced(turnId: string): string | null {
    const row = this.#ports.db.get(
      `SELECT reason FROM cron_run WHERE reason IS NOT NULL AND inbound_id IN (SELECT id FROM inbound WHERE turn_id = ?)`,
      turnId,
    );
    return row?.textOrNull('reason') ?? null;
  }

  /** Misses in a row with one reason share a row. */
  #miss(job: string, { state, first, last, count, reason }: Misses): void {
    const { db, clock } = this.#ports;
    const newest = db.get(
      'SELECT due_at, last_due, state, reason FROM cron_run WHERE job = ? ORDER BY due_at DESC LIMIT 1',
      job,
    );
    const goesOn =
      newest !== undefined &&
      newest.text('state') === state &&
      newest.textOrNull('reason') === reason &&
      newest.number('last_due') < first;
    if (goesOn) {
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
