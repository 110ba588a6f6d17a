import { agoText as durationText, localText, zoneTimeOf } from '../../core/api-time.ts';
import { sentences } from '../../core/api.ts';
import { withoutStop, type OwnStep, type WhyStep, type WhyStory } from '../../core/api-why.ts';
import type { CronRun } from './rows.ts';

/** A run that begins later than this after it was due is late. */
const LATE_MS = 60_000;

export interface JobFacts {
  readonly id: string;
  /** Newest first. */
  readonly runs: readonly CronRun[];
  /** `over`: it has ended or was removed. */
  readonly state: 'on' | 'off' | 'over';
  /** Why the turn of the newest run ended as it did; null: it had none, or it is no failure. */
  readonly turnCause: string | null;
}

interface Where {
  readonly zone: string;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What became of a job: its newest run first, then what it is now. */
export function jobStory({ id, runs, state, turnCause }: JobFacts, { zone, now }: Where): WhyStory {
  const [newest] = runs;
  const ran = newest === undefined ? '' : sentences(runText(newest, zone), turnCause ?? '');
  return {
    subject: `the job ${id}`,
    cause: sentences(ran, stateText(state, newest)),
    turn: newest?.turnId ?? null,
    session: `cron:${id}`,
    at: newest?.at ?? now,
    steps: runs.toReversed().map((run): WhyStep => ({ at: run.at, what: withoutStop(runText(run, zone)) })),
    cost: null,
  };
}

/** A run as one line of what the assistant did by itself. */
export function stepOf({ job, at, execution, delivery, reason, count }: CronRun): OwnStep {
  const what = `job ${job}${count === 1 ? '' : ` (${count} times)`}`;
  if (execution !== 'ok') return { at, what, outcome: execution, reason };
  return { at, what, outcome: delivery === 'none' ? 'done' : 'told', reason: delivery === 'none' ? reason : delivery };
}

function stateText(state: JobFacts['state'], newest: CronRun | undefined): string {
  if (state === 'over') return 'It has ended or was removed, and does not run any more.';
  if (state === 'off') return 'It is switched off.';
  return newest === undefined ? 'It has not come due yet.' : '';
}

/** Why one due time of a job, or several in a row, ran or did not, and what was heard of it. */
function runText(run: CronRun, zone: string): string {
  const { execution, delivery, reason, lateMs } = run;
  const when = whenText(run, zone);
  const why = reason === null ? '' : `: ${reasonText(reason)}`;
  const late = lateMs < LATE_MS ? '' : `, ${durationText(lateMs)} late`;
  switch (execution) {
    case 'missed':
    case 'skipped':
      return `It did not run ${when}${why}.`;
    case 'waiting':
      return `It came due ${when} and waits for its turn.`;
    case 'running':
      return `It came due ${when} and is running.`;
    case 'failed':
      return `It ran ${when}${late}, and failed.`;
    case 'stopped':
      return `It ran ${when}${late}, and was stopped.`;
    case 'silent':
      return `It ran ${when}${late}, and nothing was sent${why}.`;
    default:
      return `It ran ${when}${late}${deliveryText(delivery, why)}.`;
  }
}

function deliveryText(delivery: CronRun['delivery'], why: string): string {
  switch (delivery) {
    case 'delivered':
      return ', and what it said arrived';
    case 'waiting':
      return ', and what it said waits to be sent';
    case 'uncertain':
      return ', and what it said may have arrived';
    case 'failed':
      return ', but what it said did not arrive';
    default:
      return `, and nothing was sent${why}`;
  }
}

function whenText({ dueAt, lastDue, count }: CronRun, zone: string): string {
  if (count === 1) {
    const at = `at ${localText(dueAt, zone)}`;
    // In these minutes there is one hour less between the local times than between the moments.
    const isForward = zoneTimeOf(dueAt, zone) - zoneTimeOf(dueAt - 60_000, zone) > 60_000;
    return isForward ? `${at}, when the clocks were put forward` : at;
  }
  return `${count} times from ${localText(dueAt, zone)} to ${localText(lastDue, zone)}`;
}

/** A reason that the journal keeps, as the end of a sentence. */
function reasonText(reason: string): string {
  if (reason === 'not running at that time') return 'I was not running then';
  if (reason === 'waiting after failures') return 'after failures in a row it runs less often';
  return withoutStop(reason);
}
