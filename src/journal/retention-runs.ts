import type { Row } from '../storage/database.ts';
import type { JournalPorts, Swept } from './rows.ts';

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
export function pruneRuns(ports: JournalPorts, { job, now, limit }: Pruning): Swept {
  const { db } = ports;
  const due = job === null ? old(ports, now, limit) : tooMany(ports, job, limit);
  let rows = 0;
  for (const run of due) {
    const [id, dueAt] = [run.text('job'), run.number('due_at')];
    const inboundId = run.textOrNull('inbound_id');
    const outboundId = run.textOrNull('outbound_id');
    if (inboundId !== null && !removeTurnOf(ports, inboundId)) break;
    if (outboundId !== null) db.run(`DELETE FROM outbound WHERE id = ? AND ${SAID}`, outboundId);
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
const SAID = "state IN ('delivered', 'dead', 'expired')";

function old({ db }: JournalPorts, now: number, limit: number): readonly Row[] {
  return db.all(`SELECT ${COLUMNS} FROM cron_run WHERE at < ? ORDER BY at LIMIT ?`, now - KEPT_MS, limit);
}

function tooMany({ db }: JournalPorts, job: string, limit: number): readonly Row[] {
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

/** Deletes the message, turn and replies of a run. False: the run has not ended, nothing is deleted. */
function removeTurnOf({ db }: JournalPorts, inboundId: string): boolean {
  const message = db.get('SELECT state, turn_id FROM inbound WHERE id = ?', inboundId);
  if (message === undefined) return true;
  const state = message.text('state');
  if (state === 'accepted' || state === 'running') return false;
  const turnId = message.textOrNull('turn_id');
  db.run('DELETE FROM inbound WHERE id = ?', inboundId);
  if (turnId === null || db.get('SELECT 1 FROM inbound WHERE turn_id = ? LIMIT 1', turnId) !== undefined) return true;
  db.run("DELETE FROM turns WHERE id = ? AND state IN ('done', 'dead')", turnId);
  db.run(`DELETE FROM outbound WHERE turn_id = ? AND ${SAID}`, turnId);
  return true;
}
