import { scheduleOf, type Job } from '../../src/extensions/cron/job.ts';
import { nextRun, type Schedule } from '../../src/extensions/cron/schedule.ts';
import { seeded } from '../support/crash-process.ts';
import { CronWorld } from './cron-world.ts';

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;
const START = Date.UTC(2027, 2, 10, 7);
/** How far the wall clock is put at once, in both directions. */
const PUTS = [SECOND, 30 * SECOND, HOUR, DAY, 30 * DAY, 100 * DAY];

export interface History {
  readonly due: number;
  /** What was done more than once for one due time. */
  readonly twice: readonly string[];
  /** Due times of which nothing is written down. */
  readonly forgotten: readonly string[];
  /** Reminders that nobody was told, although their time came. */
  readonly untold: readonly string[];
  /** Jobs that rested longer after failures than they may. */
  readonly rested: readonly string[];
}

/**
 * One history of a schedule whose wall clock is put by seconds to months, forward and back: before jobs and reminders, while
 * their turns run, after they failed, while the process is down, and beside a job that can't be looked at.
 */
export async function history(seed: number): Promise<History> {
  const random = seeded(seed);
  const below = (most: number): number => Math.floor(random() * most);
  const put = (): number => (random() < 0.5 ? -1 : 1) * (1 + below(PUTS[below(PUTS.length)] ?? SECOND));
  await using world = await CronWorld.open(START);
  const { clock } = world;
  world.longestSleepMs = HOUR;
  const whole = clock.monotonic.bind(clock);
  const wall = clock.now.bind(clock);
  // A real one counts parts of milliseconds, and the wall clock whole ones.
  clock.monotonic = () => whole() + (Math.floor(whole()) % 7) / 8;
  clock.now = () => Math.floor(wall());
  await world.start();
  await world.add({ id: 'broken', kind: 'agent', every: '1h', from: '2027-03-10T07:00:00Z' });
  world.broken.add('broken');
  const at = (ms: number): string => new Date(START + ms).toISOString();
  const reminders = [
    await world.add({ id: 'soon', at: at(5 * SECOND) }),
    await world.add({ id: 'later', at: at(1 + below(3 * HOUR)) }),
    await world.add({ id: 'one-day', at: at(1 + below(40 * DAY)) }),
  ];
  const jobs = [
    await world.add({ id: 'steps', every: `${1 + below(6)}h`, from: at(below(HOUR)) }),
    await world.add({ id: 'task', kind: 'agent', every: '5h 7m', from: at(0) }),
    await world.add({ id: 'gap', cron: '30 2 * * *', zone: 'Europe/Vienna' }),
    await world.add({ id: 'monthly', kind: 'agent', cron: '0 9 1 * *', zone: 'America/New_York' }),
  ];
  let latest = clock.now();
  for (let step = 0; step < 8; step += 1) {
    const dice = random();
    if (dice < 0.5) clock.jump(put());
    else if (dice < 0.7) {
      await world.stop();
      clock.jump(put());
      await world.start();
    } else if (dice < 0.85) {
      world.outcome = null;
      await clock.advance(below(6 * HOUR));
      world.outcome = random() < 0.5 ? 'failed' : 'answered';
      if (random() < 0.5) await world.finish();
      clock.jump(put());
      await world.finish();
      world.outcome = 'answered';
    }
    latest = Math.max(latest, clock.now());
    await clock.advance(below(6 * HOUR));
    latest = Math.max(latest, clock.now());
  }
  if (clock.now() < latest) clock.jump(latest - clock.now());
  await clock.advance(2 * HOUR);
  return judge(world, { jobs, reminders, end: latest });
}

function judge(
  world: CronWorld,
  { jobs, reminders, end }: { jobs: readonly Job[]; reminders: readonly Job[]; end: number },
): History {
  const outbound = world.journal.outbox.page(0, 1_000_000).map(({ message }) => message);
  const keys = [...world.requests.map(({ message }) => message.externalId), ...outbound.map(({ id }) => id)];
  const counts = Map.groupBy(keys, (key) => key);
  const twice = [...counts].filter(([, all]) => all.length > 1).map(([key]) => key);
  const forgotten: string[] = [];
  const rested: string[] = [];
  let due = 0;
  for (const job of jobs) {
    const runs = world.runs(job.id);
    const rests = runs.filter(({ reason }) => reason === 'waiting after failures');
    if (rests.some(({ dueAt, lastDue }) => lastDue - dueAt > HOUR)) rested.push(job.id);
    for (const at of times(scheduleOf(job, 'UTC') as Schedule, START, end)) {
      due += 1;
      const isKnown = runs.some(({ dueAt, lastDue }) => dueAt <= at && at <= lastDue);
      if (!isKnown) forgotten.push(`${job.id} ${new Date(at).toISOString()}`);
    }
  }
  const come = reminders.filter(({ at = '' }) => Date.parse(at) <= end);
  const told = new Set(outbound.map(({ metadata }) => metadata['job']));
  return { due, twice, forgotten, rested, untold: come.filter(({ id }) => !told.has(id)).map(({ id }) => id) };
}

function times(schedule: Schedule, from: number, to: number): readonly number[] {
  const found: number[] = [];
  for (let at = nextRun(schedule, from); at !== null && at < to; at = nextRun(schedule, at)) found.push(at);
  return found;
}
