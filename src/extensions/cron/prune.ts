import type { Database, Row, Swept, SweptJournal } from '../../core/api-tables.ts';

type Ports = Pick<SweptJournal, 'db' | 'removeAnswered'>;

/** How long jobs that have ended are kept, ms. */
export const ENDED_JOBS = 90 * 86_400_000;
const PRUNED_KEPT_MS = 400 * 86_400_000;
const KEPT_MS = 90 * 86_400_000;
/** At most this many runs of one job are kept; a job that runs each minute has as many in 16 hours. */
const MOST_RUNS = 1_000;

interface Pruning {
  /** Prune what exceeds `MOST_RUNS` of this job. Null: prune what is too old, of all jobs. */
  readonly job: string | null;
  readonly now: number;
  readonly limit: number;
}

/**
 * Deletes, within a transaction, runs that are too old or too many, each with its message, turn and replies. The job's
 * `settled` time moves up to them, so that they are not due again.
 */
export function pruneRuns(ports: Ports, { job, now, limit }: Pruning): Swept {
  const { db } = ports;
  const due = job === null ? old(ports, now, limit) : tooMany(ports, job, limit);
  let rows = 0;
  for (const run of due) {
    const [id, dueAt] = [run.text('job'), run.number('due_at')];
    const inboundId = run.textOrNull('inbound_id');
    const outboundId = run.textOrNull('outbound_id');
    if (!ports.removeAnswered({ inboundId, outboundId })) break;
    db.run('DELETE FROM cron_run WHERE job = ? AND due_at = ?', id, dueAt);
    db.run(
      `INSERT INTO cron_pruned (job, due_at, at) VALUES (?, ?, ?)
       ON CONFLICT (job) DO UPDATE SET due_at = max(due_at, excluded.due_at), at = excluded.at`,
      id,
      run.number('last_due'),
      now,
    );
    rows += 1;
  }
  return { rows, more: rows === limit };
}

const COLUMNS = 'job, due_at, last_due, inbound_id, outbound_id';

function old({ db }: Ports, now: number, limit: number): readonly Row[] {
  return db.all(`SELECT ${COLUMNS} FROM cron_run WHERE at < ? ORDER BY at LIMIT ?`, now - KEPT_MS, limit);
}

function tooMany({ db }: Ports, job: string, limit: number): readonly Row[] {
  const kept = db.get(
    'SELECT due_at FROM cron_run WHERE job = ? ORDER BY due_at DESC LIMIT 1 OFFSET ?',
    job,
    MOST_RUNS - 1,
  );
  if (kept === undefined) return [];
  return db.all(
    `SELECT ${COLUMNS} FROM cron_run WHERE job = ? AND due_at < ? ORDER BY due_at LIMIT ?`,
    job,
    kept.number('due_at'),
    limit,
  );
}

/** Deletes removed jobs, whose `settled` time is kept as long as the keys of messages. */
export function removeJobs(
  db: Database,
  now: number,
  { before, limit }: { readonly before: number; readonly limit: number },
): Swept {
  const rows = db.run(
    `DELETE FROM cron_job WHERE id IN
       (SELECT id FROM cron_job WHERE state <> 'active' AND updated_at < ? LIMIT ?)`,
    before,
    limit,
  );
  db.run('DELETE FROM cron_pruned WHERE at < ? AND job NOT IN (SELECT id FROM cron_job)', now - PRUNED_KEPT_MS);
  return { rows, more: rows === limit };
}
