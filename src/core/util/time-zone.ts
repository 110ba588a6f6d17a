import { RecentMap } from './recent-map.ts';

/** Local time in a zone, as the milliseconds since 1970 at which UTC shows the same date and time. */
export type ZoneTime = number;

/** A moment in local time. */
export interface LocalTime {
  /** `2026-11-21` */
  readonly date: string;
  /** `14:05` */
  readonly time: string;
  /** `Sat` */
  readonly weekday: string;
  /** IANA name. */
  readonly zone: string;
}

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;

/** Making one is slow, and an assistant knows few zones. */
const formats = new RecentMap<string, Intl.DateTimeFormat>(32);

/** Whether this is a time zone of the IANA list, as this machine knows it. */
export function isZone(name: string): boolean {
  try {
    return formatOf(name).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

let machine: string | undefined;

/** The machine's own, as it was when it was first asked for. */
export function machineZone(): string {
  machine ??= new Intl.DateTimeFormat('en').resolvedOptions().timeZone;
  return machine;
}

/** Local time in a zone, to the second. */
export function zoneTimeOf(at: number, zone: string): ZoneTime {
  return toSecond(at) + offsetAt(at, zone);
}

/** Slow: asks the machine's list of zones. */
function readZoneTime(at: number, zone: string): ZoneTime {
  const field: Record<string, number> = {};
  for (const { type, value } of formatOf(zone).formatToParts(at)) field[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = field;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/**
 * The moment of a local time. Of a time that a change of the clock repeats it is the first; for one that a change
 * leaves out it is the moment of the change.
 */
export function instantOf(local: ZoneTime, zone: string): number {
  const known = offsetPeriods.get(zone)?.find(({ from, to }) => from + DAY_MS <= local && local <= to - DAY_MS);
  if (known !== undefined) return local - known.offset;
  const before = offsetAt(local - DAY_MS, zone);
  const after = offsetAt(local + DAY_MS, zone);
  const first = local - Math.max(before, after);
  const second = local - Math.min(before, after);
  if (zoneTimeOf(first, zone) === local) return first;
  if (zoneTimeOf(second, zone) === local) return second;
  return firstWith(after, { after: first, upTo: second, zone });
}

/** `+01:00` */
function offsetText(at: number, zone: string): string {
  const minutes = Math.round(offsetAt(at, zone) / 60_000);
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? '-' : '+'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
}

/** `2027-03-01T09:00:00+01:00` */
export function isoIn(at: number, zone: string): string {
  return `${new Date(zoneTimeOf(at, zone)).toISOString().slice(0, 19)}${offsetText(at, zone)}`;
}

/** `timezone`: IANA name, or null for the machine's. */
export function localTime(at: number, timezone: string | null): LocalTime {
  const zone = timezone ?? machineZone();
  const local = new Date(zoneTimeOf(at, zone));
  const text = local.toISOString();
  const weekday = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][local.getUTCDay()] ?? '';
  return { date: text.slice(0, 10), time: text.slice(11, 16), weekday, zone };
}

/** `2026-11-21 14:05`; `timezone` as in `localTime`. */
export function localMinute(at: number, timezone: string | null): string {
  const { date, time } = localTime(at, timezone);
  return `${date} ${time}`;
}

/** `2026-11-21 14:05:09`; `timezone` as in `localTime`. */
export function localSecond(at: number, timezone: string | null): string {
  return `${localMinute(at, timezone)}:${new Date(at).toISOString().slice(17, 19)}`;
}

/** `Mon 2027-03-01 09:00 (Europe/Vienna)`, with seconds where there are some. */
export function localText(at: number, zone: string): string {
  const { date, time, weekday } = localTime(at, zone);
  const seconds = new Date(zoneTimeOf(at, zone)).getUTCSeconds();
  return `${weekday} ${date} ${time}${seconds === 0 ? '' : `:${String(seconds).padStart(2, '0')}`} (${zone})`;
}

/** When the day of `now` began, milliseconds since 1970; `timezone` as in `localTime`. */
export function startOfDay(now: number, timezone: string | null): number {
  const zone = timezone ?? machineZone();
  return instantOf(Math.floor(zoneTimeOf(now, zone) / DAY_MS) * DAY_MS, zone);
}

/** Time in which the clock of a zone is not changed, both ends included. */
interface OffsetPeriod {
  readonly from: number;
  readonly to: number;
  readonly offset: number;
}

/** What was looked at last in each zone, newest first. */
const offsetPeriods = new RecentMap<string, readonly OffsetPeriod[]>(32);
/** Around a change there are two, and a year has a few. */
const MOST_PERIODS = 4;
/** No zone puts its clock forward and back again within so few days. */
const REACH_MS = 3 * DAY_MS;

/** Milliseconds that the local time is ahead of UTC. */
function offsetAt(at: number, zone: string): number {
  const known = offsetPeriods.get(zone) ?? [];
  const found = known.find(({ from, to }) => from <= at && at <= to);
  if (found !== undefined) return found.offset;
  const period = offsetPeriodAround(at, zone);
  offsetPeriods.set(zone, [period, ...known.slice(0, MOST_PERIODS - 1)]);
  return period.offset;
}

function offsetPeriodAround(at: number, zone: string): OffsetPeriod {
  const offset = readOffset(at, zone);
  const [from, to] = [at - REACH_MS, at + REACH_MS];
  return {
    from: readOffset(from, zone) === offset ? from : firstWith(offset, { after: from, upTo: at, zone }),
    to: readOffset(to, zone) === offset ? to : lastWith(offset, { from: at, before: to, zone }),
    offset,
  };
}

function readOffset(at: number, zone: string): number {
  return readZoneTime(at, zone) - toSecond(at);
}

function toSecond(at: number): number {
  return Math.floor(at / SECOND_MS) * SECOND_MS;
}

/** The first moment, to the second, with this offset; there is one change in between. */
function firstWith(offset: number, { after, upTo, zone }: { after: number; upTo: number; zone: string }): number {
  return firstSecond({ after, upTo }, (at) => readOffset(at, zone) === offset);
}

/** The last millisecond with this offset; there is one change in between. */
function lastWith(offset: number, { from, before, zone }: { from: number; before: number; zone: string }): number {
  return firstSecond({ after: from, upTo: before }, (at) => readOffset(at, zone) !== offset) - 1;
}

function firstSecond({ after, upTo }: { after: number; upTo: number }, holds: (at: number) => boolean): number {
  let [low, high] = [Math.floor(after / SECOND_MS), Math.ceil(upTo / SECOND_MS)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle * SECOND_MS)) high = middle;
    else low = middle;
  }
  return high * SECOND_MS;
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
    hourCycle: 'h23',
  });
  formats.set(zone, format);
  return format;
}
