import type { Schedule } from '../../src/extensions/cron/schedule.ts';
import { nextRun } from '../../src/extensions/cron/schedule.ts';

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;

/** Zones with every kind of change: half an hour, backwards in summer, around Ramadan, at midnight, none. */
export const ZONES = [
  'Europe/Vienna',
  'America/New_York',
  'Australia/Lord_Howe',
  'Europe/Dublin',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Atlantic/Azores',
  'America/Santiago',
  'Asia/Kolkata',
  'Pacific/Auckland',
] as const;

/** Each with what it matches, said in the plainest way. */
const PATTERNS: readonly (readonly [expression: string, matches: (local: ZoneTime) => boolean])[] = [
  ['*/5 * * * *', ({ minute }) => minute % 5 === 0],
  ['30 2 * * *', ({ hour, minute }) => hour === 2 && minute === 30],
  ['15 0 * * *', ({ hour, minute }) => hour === 0 && minute === 15],
  ['0 0 * * *', ({ hour, minute }) => hour === 0 && minute === 0],
  ['5,50 1-3 * * *', ({ hour, minute }) => [5, 50].includes(minute) && hour >= 1 && hour <= 3],
  ['45 23,1 * * 0', ({ hour, minute, weekday }) => minute === 45 && [23, 1].includes(hour) && weekday === 0],
  [
    '0 3 1-7 3,10 *',
    ({ hour, minute, day, month }) => hour === 3 && minute === 0 && day <= 7 && [3, 10].includes(month),
  ],
];

interface ZoneTime {
  readonly month: number;
  readonly day: number;
  readonly weekday: number;
  readonly hour: number;
  readonly minute: number;
}

/** Moments at which the clock of a zone is put forward or back, in these years. */
export function transitions(zone: string, from: number, to: number): readonly number[] {
  const local = zoneTimeOf(zone);
  const found: number[] = [];
  const step = 6 * 60 * MINUTE_MS;
  for (let at = from; at < to; at += step) {
    if (local(at + step) - local(at) === step) continue;
    let [low, high] = [at, at + step];
    while (high - low > MINUTE_MS) {
      const middle = Math.floor((low + high) / 2 / MINUTE_MS) * MINUTE_MS;
      if (local(middle) - local(low) === middle - low) low = middle;
      else high = middle;
    }
    found.push(high);
  }
  return found;
}

/** Every difference between the schedule and the reference from `from` up to `to`; whole minutes. */
export function mismatches(zone: string, from: number, to: number): readonly string[] {
  const local = zoneTimeOf(zone);
  const due = PATTERNS.map((): number[] => []);
  let newest = local(from);
  for (let at = from + MINUTE_MS; at <= to; at += MINUTE_MS) {
    const shown = local(at);
    // A local time that is left out runs now; what it has shown before does not run again.
    for (let passed = newest + MINUTE_MS; passed <= shown; passed += MINUTE_MS) {
      const fields = fieldsOf(passed);
      for (const [index, [, matches]] of PATTERNS.entries()) {
        if (matches(fields) && due[index]?.at(-1) !== at) due[index]?.push(at);
      }
    }
    newest = Math.max(newest, shown);
  }
  return PATTERNS.flatMap(([expression], index) => {
    const expected = due[index] ?? [];
    const got = runs({ type: 'cron', expression, zone }, from, to);
    const at = [...expected.keys(), expected.length].find((place) => expected[place] !== got[place]);
    return at === undefined || (at === expected.length && got.length === at)
      ? []
      : [`${zone} ${expression}: ${iso(got[at])} instead of ${iso(expected[at])}`];
  });
}

function runs(schedule: Schedule, after: number, upTo: number): readonly number[] {
  const found: number[] = [];
  for (let at = nextRun(schedule, after); at !== null && at <= upTo; at = nextRun(schedule, at)) found.push(at);
  return found;
}

/** A local time; the machine is asked once for each quarter of an hour, within which no zone changes its clock. */
function zoneTimeOf(zone: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' });
  let quarter = { from: Number.NaN, shown: 0 };
  return (at) => {
    const from = Math.floor(at / QUARTER_MS) * QUARTER_MS;
    if (quarter.from !== from) quarter = { from, shown: Date.parse(`${format.format(from).replace(' ', 'T')}Z`) };
    return quarter.shown + at - from;
  };
}

function fieldsOf(local: number): ZoneTime {
  const date = new Date(local);
  return {
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    weekday: date.getUTCDay(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
  };
}

function iso(at: number | undefined): string {
  return at === undefined ? 'nothing' : new Date(at).toISOString();
}
