import { nextRun, type Schedule } from './schedule.ts';

export interface DueOptions {
  /** Due times up to here are settled. */
  readonly after: number;
  readonly now: number;
  /** How late a run may be and still count as on time. */
  readonly onTimeMs: number;
  /** How late it may start; 0: not late at all. */
  readonly graceMs: number;
  /** Before this nothing runs: it failed. */
  readonly blockedUntil: number;
  /** When it failed; what was due before passed for another reason. @default whatever is due before `blockedUntil` is blocked */
  readonly blockedFrom?: number;
  /** Ran before: the clock was put back. */
  readonly taken: ReadonlySet<number>;
}

/** Due times in a row that do not run. */
export interface MissedTimes {
  readonly first: number;
  readonly last: number;
  readonly count: number;
  readonly why: 'late' | 'blocked';
}

export interface Due {
  /** Oldest first. */
  readonly missed: readonly MissedTimes[];
  /** What is to run now. */
  readonly run: number | null;
  /** There may be more that is due: look again. */
  readonly more: boolean;
}

/** Due times that one look settles, so that a long absence does not hold the process up. */
const MOST_AT_ONCE = 500;

/**
 * What has come due since `after`: of all that did, the newest runs, if it is not too late; the others are missed. Pure.
 */
export function dueNow(schedule: Schedule, options: DueOptions): Due {
  const { after, now, onTimeMs, graceMs, blockedUntil, blockedFrom = 0, taken } = options;
  const times: number[] = [];
  for (let at = nextRun(schedule, after); at !== null && at <= now; at = nextRun(schedule, at)) {
    if (!taken.has(at)) times.push(at);
    if (times.length > MOST_AT_ONCE) break;
  }
  const more = times.length > MOST_AT_ONCE;
  if (more) times.pop();
  const newest = times.at(-1);
  if (newest === undefined) return { missed: [], run: null, more: false };
  const inTime = now - newest <= Math.max(onTimeMs, graceMs);
  const run = !more && inTime && newest >= blockedUntil ? newest : null;
  const rest = run === null ? times : times.slice(0, -1);
  const missed: MissedTimes[] = [];
  for (const at of rest) {
    const why = at >= blockedFrom && at < blockedUntil ? 'blocked' : 'late';
    const last = missed.at(-1);
    if (last?.why === why) missed.splice(-1, 1, { ...last, last: at, count: last.count + 1 });
    else missed.push({ first: at, last: at, count: 1, why });
  }
  return { missed, run, more };
}

/** All that came due in a time in which nobody knows what ran; none or one. Pure. */
export function missedUpTo(
  schedule: Schedule,
  { after, at, taken }: Pick<DueOptions, 'after' | 'taken'> & { readonly at: number },
): readonly MissedTimes[] {
  const all: MissedTimes[] = [];
  for (let from = after, more = true; more; from = all.at(-1)?.last ?? at) {
    const due = dueNow(schedule, { after: from, now: at, onTimeMs: 0, graceMs: 0, blockedUntil: at + 1, taken });
    all.push(...due.missed);
    more = due.more;
  }
  const [oldest, newest] = [all[0], all.at(-1)];
  if (oldest === undefined || newest === undefined) return [];
  return [{ ...oldest, last: newest.last, count: all.reduce((sum, { count }) => sum + count, 0) }];
}
