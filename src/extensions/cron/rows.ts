import { type Row, unfinishedTurn } from '../../core/api-tables.ts';

/** A job that the owner agreed to: its definition, its creator, and up to when its due times are settled. */
export interface AgreedJob {
  readonly id: string;
  /** Hash of the definition that was agreed to. */
  readonly hash: string;
  /** JSON. */
  readonly definition: string;
  readonly role: string;
  /** JSON. */
  readonly creator: string;
  readonly enabled: boolean;
  /** Due times up to this one have run or were missed; ms since 1970. */
  readonly settled: number;
  /** Failures before this time no longer count; ms since 1970. */
  readonly since: number;
}

/** A run of a job: how its turn ended, and how its messages were delivered. */
export interface CronRun {
  readonly job: string;
  readonly dueAt: number;
  /** How many due times in a row this row stands for, all missed or skipped; `lastDue` is the last of them. */
  readonly count: number;
  readonly lastDue: number;
  readonly execution: 'waiting' | 'running' | 'ok' | 'silent' | 'failed' | 'stopped' | 'missed' | 'skipped';
  readonly delivery: 'none' | 'waiting' | 'delivered' | 'uncertain' | 'failed';
  /** Why it did not run, or sent nothing. */
  readonly reason: string | null;
  readonly lateMs: number;
  readonly turnId: string | null;
  /** When its turn ended or, without a turn, when the row was written; ms since 1970. */
  readonly at: number;
}

/** SQL: runs with the state of their turn and of the delivery of their messages, read from the rows of these. */
export const RUNS =
  runsWith(`(SELECT min(CASE outbound.state WHEN 'dead' THEN 0 WHEN 'expired' THEN 0 WHEN 'uncertain' THEN 1
       WHEN 'delivered' THEN 3 ELSE 2 END)
     FROM core_replies AS outbound WHERE outbound.id = run.outbound_id OR outbound.turn_id = inbound.turn_id)`);

/** SQL: as `RUNS`, but without the delivery, which is the slow part. */
export const EXECUTIONS = runsWith('NULL');

function runsWith(worst: string): string {
  return `SELECT run.*, inbound.state AS inbound_state, inbound.turn_id AS turn_id, turns.outcome AS outcome,
    turns.updated_at AS ended_at, ${worst} AS worst
  FROM cron_run AS run LEFT JOIN core_messages AS inbound ON inbound.id = run.inbound_id LEFT JOIN core_turns AS turns ON turns.id = inbound.turn_id`;
}

export function toJob(row: Row): AgreedJob {
  return {
    id: row.text('id'),
    hash: row.text('hash'),
    definition: row.text('definition'),
    role: row.text('role'),
    creator: row.text('creator'),
    enabled: row.number('enabled') === 1,
    settled: row.number('settled'),
    since: row.number('since'),
  };
}

const DELIVERIES = ['failed', 'uncertain', 'waiting', 'delivered'] as const;

export function toRun(row: Row): CronRun {
  const worst = row.numberOrNull('worst');
  const endedAt = row.numberOrNull('ended_at');
  return {
    job: row.text('job'),
    dueAt: row.number('due_at'),
    count: row.number('count'),
    lastDue: row.number('last_due'),
    execution: executionOf(row),
    delivery: worst === null ? 'none' : (DELIVERIES[worst] ?? 'none'),
    reason: row.textOrNull('reason'),
    lateMs: row.number('late_ms'),
    turnId: row.textOrNull('turn_id'),
    at: endedAt ?? row.number('at'),
  };
}

function executionOf(row: Row): CronRun['execution'] {
  const state = row.text('state');
  if (state === 'missed' || state === 'skipped') return state;
  const open = unfinishedTurn(row);
  if (open !== undefined) return open;
  const outcome = row.textOrNull('outcome');
  if (outcome === 'failed' || outcome === 'stopped' || outcome === 'silent') return outcome;
  return 'ok';
}
