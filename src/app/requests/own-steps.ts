import type { OwnStep } from '../../gateway/operations/activity.ts';
import type { CronRun } from '../../journal/cron-rows.ts';
import type { Look } from '../../journal/heartbeats.ts';
import type { Journal } from '../../journal/journal.ts';

/** What the assistant did by itself, newest first, and why people heard of it or did not. */
export function ownSteps(journal: Pick<Journal, 'heartbeats' | 'cron'>, count: number): readonly OwnStep[] {
  const looks = journal.heartbeats.newest(count).map(fromLook);
  const runs = journal.cron.newest(count).map(fromRun);
  return [...looks, ...runs].toSorted((a, b) => b.at - a.at).slice(0, count);
}

function fromLook({ at, action, reason, turn, notified, verdict }: Look): OwnStep {
  if (action !== 'run')
    return { at, what: 'heartbeat', outcome: action === 'skip' ? 'nothing to do' : 'failed', reason };
  const what = `heartbeat: ${reason}`;
  if (notified !== null) return { at, what, outcome: notified ? 'told' : 'silent', reason: verdict };
  return { at, what, outcome: turn ?? 'waiting', reason: null };
}

function fromRun({ job, at, execution, delivery, reason, count }: CronRun): OwnStep {
  const what = `job ${job}${count === 1 ? '' : ` (${count} times)`}`;
  if (execution !== 'ok') return { at, what, outcome: execution, reason };
  return { at, what, outcome: delivery === 'none' ? 'done' : 'told', reason: delivery === 'none' ? reason : delivery };
}
