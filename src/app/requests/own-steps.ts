import { heartbeatStory, jobStory } from '../../agent/why/own.ts';
import type { OwnStep, WhyAnswer } from '../../gateway/operations/activity.ts';
import type { RequestParams } from '../../gateway/operations/operations.ts';
import type { CronRun } from '../../journal/cron-rows.ts';
import type { Look } from '../../journal/heartbeats.ts';
import type { Journal } from '../../journal/journal.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError } from '../../util/errors.ts';
import type { Clock } from '../../util/clock.ts';
import type { Why } from '../agent/why.ts';

interface WhyAnswerPorts {
  readonly journal: Pick<Journal, 'heartbeats' | 'cron'>;
  readonly why: Why;
  readonly clock: Pick<Clock, 'now'>;
  /** The person's time zone. */
  readonly zone: () => string;
  /** What the heartbeat does now, in a few words; null: it is switched off. */
  readonly heartbeat: () => string | null;
}

/** The name under which one asks for the heartbeat. */
const HEARTBEAT = 'heartbeat';

/** Why one thing happened, or everything since a time; without both, what the assistant did by itself. */
export async function whyAnswer(
  { count, about, since }: RequestParams<'why'>,
  ports: WhyAnswerPorts,
): Promise<WhyAnswer> {
  const { journal, why, clock, zone, heartbeat } = ports;
  if (about === undefined) {
    const own = ownSteps(journal, count).filter(({ at }) => at >= (since ?? 0));
    return { stories: since === undefined ? [] : await why.since(since, count), own };
  }
  if (about === HEARTBEAT) {
    const looks = journal.heartbeats.newest(count);
    return {
      stories: [heartbeatStory({ looks, state: heartbeat() }, { now: clock.now() })],
      own: looks.map(fromLook),
    };
  }
  const story = await why.find(about);
  if (story !== undefined) return { stories: [story], own: [] };
  const runs = journal.cron.runs(about, count);
  const job = journal.cron.job(about);
  if (job !== undefined || runs.length > 0) {
    const isActive = journal.cron.jobs().some(({ id }) => id === about);
    const state = isActive ? (job?.enabled === true ? 'on' : 'off') : 'over';
    const facts = { id: about, runs, state, turnCause: await failureOf(runs[0], why) } as const;
    return { stories: [jobStory(facts, { zone: zone(), now: clock.now() })], own: runs.map(fromRun) };
  }
  throw new AppError(
    'why-unknown',
    `Nothing is known of ${JSON.stringify(about)}. Give the id of a message, a turn, a job or a conversation such as telegram:123, or heartbeat. To list the newest: ${assistantCommand('why --since 1d')}`,
  );
}

/** Why the turn of a run failed or was stopped; null: it did not. */
async function failureOf(run: CronRun | undefined, why: Why): Promise<string | null> {
  if (run?.turnId == null || !['failed', 'stopped'].includes(run.execution)) return null;
  return (await why.find(run.turnId))?.cause ?? null;
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
