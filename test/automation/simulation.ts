import { nextRun, type Schedule } from '../../src/extensions/cron/schedule.ts';
import { scheduleOf, type Job } from '../../src/extensions/cron/job.ts';
import { CronWorld } from './cron-world.ts';
import { seeded } from '../support/crash-process.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** So late a sleep is noticed. */
const SLEEP_MS = 10 * MINUTE;
const START = Date.UTC(2027, 2, 10, 7);

export interface SimulationReport {
  readonly due: number;
  readonly ran: number;
  readonly missed: number;
  readonly jumps: number;
  /** Due times that ran more than once. */
  readonly twice: readonly string[];
  /** Due times of which nothing is written down. */
  readonly unreported: readonly string[];
  /** Due times that did not run although it was up from then on and in time. */
  readonly idle: readonly string[];
}

/**
 * Days of a scheduler under virtual time, over the change to summer time, with stops, sleeps and a clock that is put
 * forward; with `back` also put back.
 */
export async function simulate(plan: {
  days: number;
  seed: number;
  back: boolean;
  often?: boolean;
}): Promise<SimulationReport> {
  const random = seeded(plan.seed);
  const below = (most: number): number => Math.floor(random() * most);
  await using world = await CronWorld.open(START);
  const { clock } = world;
  world.longestSleepMs = SLEEP_MS;
  const whole = clock.monotonic.bind(clock);
  // A real one counts parts of milliseconds.
  clock.monotonic = () => whole() + (Math.floor(whole()) % 7) / 8;
  await world.start();
  const jobs: Job[] = [
    await world.add({ id: 'steps', every: plan.often === true ? '15m' : '1h', from: '2027-03-10T07:03:00Z' }),
    await world.add({ id: 'task', kind: 'agent', every: '2h 7m', from: '2027-03-10T07:00:00Z' }),
    await world.add({ id: 'gap', cron: '30 2 * * *', zone: 'Europe/Vienna' }),
    await world.add({ id: 'weekdays', kind: 'agent', cron: '0 9,17 * * 1-5', zone: 'America/New_York' }),
    await world.add({
      id: 'halves',
      cron: plan.often === true ? '*/30 * * * *' : '*/30 1-3 * * *',
      zone: 'Australia/Lord_Howe',
    }),
  ];
  /** When it was up without a break, on the wall clock. */
  const up: { from: number; to: number }[] = [{ from: START, to: START }];
  const end = START + plan.days * 24 * HOUR;
  let jumps = 0;
  const rest = async (ms: number, isUp: boolean): Promise<void> => {
    if (isUp) await clock.advance(ms);
    else clock.jump(ms);
    const last = up.at(-1);
    if (isUp && last !== undefined) last.to = clock.now();
  };
  while (clock.now() < end) {
    await rest(below(6 * HOUR), true);
    const dice = random();
    if (dice < 0.3) {
      await world.stop();
      await rest(below(20 * HOUR), false);
      await world.start();
      up.push({ from: clock.now(), to: clock.now() });
    } else if (dice < 0.6) {
      // It sleeps, or the clock is put forward: the timers know nothing of it.
      await rest(below(9 * HOUR), false);
      up.push({ from: clock.now(), to: clock.now() });
    } else if (plan.back && dice < 0.75) {
      jumps += 1;
      clock.jump(-below(3 * HOUR));
      up.push({ from: clock.now(), to: clock.now() });
    }
  }
  await clock.advance(5 * MINUTE);
  return judge(world, jobs, { up, jumps, end });
}

function judge(
  world: CronWorld,
  jobs: readonly Job[],
  { up, jumps, end }: { up: readonly { from: number; to: number }[]; jumps: number; end: number },
): SimulationReport {
  const report = { due: 0, ran: 0, missed: 0 };
  const [twice, unreported, idle]: [string[], string[], string[]] = [[], [], []];
  const keys = [
    ...world.requests.map(({ message }) => message.externalId),
    ...world.journal.outbox.page(0, 1_000_000).map(({ message }) => message.id),
  ];
  for (const key of new Set(keys)) if (keys.filter((other) => other === key).length > 1) twice.push(key);
  for (const job of jobs) {
    const runs = world.runs(job.id);
    const ran = new Set(runs.filter(({ execution }) => execution === 'ok').map(({ dueAt }) => dueAt));
    const isMissed = (at: number): boolean =>
      runs.some(({ execution, dueAt, lastDue }) => execution !== 'ok' && dueAt <= at && at <= lastDue);
    for (const at of times(scheduleOf(job, 'UTC') as Schedule, START, end)) {
      report.due += 1;
      if (ran.has(at)) report.ran += 1;
      else if (isMissed(at)) report.missed += 1;
      else unreported.push(`${job.id} ${new Date(at).toISOString()}`);
      const wasUp = up.some(({ from, to }) => from < at && at + SLEEP_MS <= to);
      if (wasUp && !ran.has(at)) idle.push(`${job.id} ${new Date(at).toISOString()}`);
    }
  }
  return { ...report, jumps, twice, unreported, idle };
}

function times(schedule: Schedule, from: number, to: number): readonly number[] {
  const found: number[] = [];
  for (let at = nextRun(schedule, from); at !== null && at < to; at = nextRun(schedule, at)) found.push(at);
  return found;
}
