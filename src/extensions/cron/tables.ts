import { added, type Tables } from '../../core/api-tables.ts';
import { ENDED_JOBS, pruneRuns, removeJobs } from './prune.ts';

/** Jobs that were agreed to, their runs, and up to which time runs were pruned. */
export const tables: Tables = {
  migrations: [
    added(`
  CREATE TABLE IF NOT EXISTS cron_job (
    id         TEXT PRIMARY KEY,
    hash       TEXT NOT NULL,
    definition TEXT NOT NULL,
    role       TEXT NOT NULL,
    creator    TEXT NOT NULL,
    enabled    INTEGER NOT NULL,
    settled    INTEGER NOT NULL,
    since      INTEGER NOT NULL,
    state      TEXT NOT NULL CHECK (state IN ('active', 'over', 'removed')),
    updated_at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE IF NOT EXISTS cron_run (
    job         TEXT NOT NULL,
    due_at      INTEGER NOT NULL,
    last_due    INTEGER NOT NULL,
    count       INTEGER NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('claimed', 'missed', 'skipped')),
    inbound_id  TEXT,
    outbound_id TEXT,
    reason      TEXT,
    late_ms     INTEGER NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (job, due_at)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS cron_run_inbound ON cron_run (inbound_id) WHERE inbound_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS cron_run_at ON cron_run (at);
  CREATE INDEX IF NOT EXISTS cron_run_claimed ON cron_run (job, at) WHERE state = 'claimed';

  CREATE TABLE IF NOT EXISTS cron_pruned (
    job    TEXT PRIMARY KEY,
    due_at INTEGER NOT NULL,
    at     INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
`),
  ],
  texts: { cron_run: ['reason'] },
  sweeps: ({ db, clock, removeAnswered }, now) => [
    ...db.all('SELECT id FROM cron_job').map((row) => ({
      store: 'runs of jobs',
      slice: (limit: number) => pruneRuns({ db, removeAnswered }, { job: row.text('id'), now, limit }),
    })),
    { store: 'runs of jobs', slice: (limit) => pruneRuns({ db, removeAnswered }, { job: null, now, limit }) },
    { store: 'jobs', slice: (limit) => removeJobs(db, clock.now(), { before: now - ENDED_JOBS, limit }) },
  ],
};
