import * as z from 'zod';
import { firstJoined } from '../../core/api-tools.ts';
import type { Clock } from '../../core/api.ts';
import { jobSchema, scheduleOf } from './job.ts';
import type { JobState, JobStore } from './job-store.ts';
import { nextRuns } from './schedule.ts';

/** What became of a job that was to be as before. */
export interface RestoredJob {
  /** Id of the job. */
  readonly job: string;
  /** `restored`: it is as before; `removed`: it was new; `left`: nothing was done to it. */
  readonly outcome: 'restored' | 'removed' | 'left';
  /** Why it was left; empty otherwise. */
  readonly reason: string;
}

/** A change of a job as it was recorded: each a `JobState` in JSON; null: there was no job. */
interface JobChange {
  readonly job: string;
  readonly before: string | null;
  readonly after: string | null;
}

interface RestoreJobsPorts {
  readonly jobStore: Pick<JobStore, 'refresh' | 'state' | 'putBack' | 'remove' | 'isOver' | 'zone'>;
  readonly clock: Clock;
  /** Says what would become of each job, and changes nothing. */
  readonly dry: boolean;
}

const stateSchema = z.object({
  job: jobSchema,
  agreed: z.object({ creator: z.string(), role: z.string() }).nullable(),
  place: z.number(),
});

/**
 * Takes changes of jobs back, oldest first as they were recorded. A job that is not as the last of its changes left it
 * stays, and so does one whose time has passed. Jobs that stand as they did before are not named. Done twice it does
 * nothing more.
 */
export async function restoreJobs(
  changes: readonly JobChange[],
  { jobStore, clock, dry }: RestoreJobsPorts,
): Promise<readonly RestoredJob[]> {
  await jobStore.refresh();
  const restored: RestoredJob[] = [];
  for (const [job, ofJob] of Map.groupBy(changes, (change) => change.job)) {
    const result = await restore(job, ofJob, { jobStore, clock, dry });
    if (result !== 'as-before') restored.push({ job, ...result });
  }
  return restored;
}

type Result = Omit<RestoredJob, 'job'> | 'as-before';

async function restore(id: string, changes: readonly JobChange[], ports: RestoreJobsPorts): Promise<Result> {
  const { jobStore, clock, dry } = ports;
  const current = jobStore.state(id);
  const last = changes.findLastIndex(({ after }) => same(read(after), current));
  const first = firstJoined(changes, last === -1 ? changes.length - 1 : last, follows);
  const before = read(changes[first]?.before ?? null);
  const made = read(changes.at(-1)?.after ?? null);
  if (same(before, current)) {
    return current === null && made !== null && jobStore.isOver(made.job) ? left('it has run already') : 'as-before';
  }
  if (last === -1) return left(current === null ? 'it is not there any more' : 'it was changed since');
  if (before === null) {
    if (!dry) await jobStore.remove(id);
    return { outcome: 'removed', reason: '' };
  }
  const schedule = scheduleOf(before.job, jobStore.zone);
  if ('problem' in schedule || nextRuns(schedule, clock.now(), 1).length === 0) return left('its time has passed');
  if (!dry) await jobStore.putBack(before);
  return { outcome: 'restored', reason: '' };
}

/** Whether a change found what the one before left, or what that one found, if it was recorded and not made. */
function follows(change: JobChange, earlier: JobChange): boolean {
  const found = read(change.before);
  return same(found, read(earlier.after)) || same(found, read(earlier.before));
}

function read(text: string | null): JobState | null {
  if (text === null) return null;
  const parsed = stateSchema.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : null;
}

function same(one: JobState | null, other: JobState | null): boolean {
  return key(one) === key(other);
}

/** Of all but its place. */
function key(state: JobState | null): string {
  return state === null ? '' : JSON.stringify([jobSchema.parse(state.job), state.agreed]);
}

function left(reason: string): Result {
  return { outcome: 'left', reason };
}
