import type { OwnStep, WhyAnswer } from '../../gateway/operations/activity.ts';
import type { RequestParams } from '../../gateway/operations/operations.ts';
import type { CronRun } from '../../journal/cron-rows.ts';
import type { Look } from '../../journal/heartbeats.ts';
import type { Journal } from '../../journal/journal.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError } from '../../util/errors.ts';
import type { Why } from '../agent/why.ts';

/** The name under which one asks for the heartbeat. */
const HEARTBEAT = 'heartbeat';

/** Why one thing happened, or everything since a time; without both, what the assistant did by itself. */
export async function whyAnswer(
  { count, about, since }: RequestParams<'why'>,
  { journal, why }: { readonly journal: Pick<Journal, 'heartbeats' | 'cron'>; readonly why: Why },
): Promise<WhyAnswer> {
  if (about === undefined) {
    const own = ownSteps(journal, count).filter(({ at }) => at >= (since ?? 0));
    return { stories: since === undefined ? [] : await why.since(since, count), own };
  }
  if (about === HEARTBEAT) return { stories: [], own: journal.heartbeats.newest(count).map(fromLook) };
  const story = await why.find(about);
  if (story !== undefined) return { stories: [story], own: [] };
  const own = journal.cron.runs(about, count).map(fromRun);
  if (own.length > 0) return { stories: [], own };
  throw new AppError(
    'why-unknown',
    `Nothing is known of ${JSON.stringify(about)}. Give the id of a message, a turn, a job or a conversation such as telegram:123, or heartbeat. To list the newest: ${assistantCommand('why --since 1d')}`,
  );
}

/** What the assistant did by itself, newest first, and why people heard of it or did not. */
function ownSteps(journal: Pick<Journal, 'heartbeats' | 'cron'>, count: number): readonly OwnStep[] {
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
