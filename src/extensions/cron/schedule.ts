import { Cron } from 'croner';
import { cut, errorMessage, RecentMap } from '../../core/api.ts';
import { durationText, instantOf, isoIn, isZone, localText, parseDuration, zoneTimeOf } from '../../core/api-time.ts';

/** When something is due. Times are milliseconds since 1970. */
export type Schedule =
  | { readonly type: 'at'; readonly at: number }
  /** At `from` plus or minus whole steps, whenever the clock was right or wrong. */
  | { readonly type: 'every'; readonly stepMs: number; readonly from: number }
  /** By the local time of a zone. A time that is left out there runs at the end of the gap, one that is there twice runs once. */
  | { readonly type: 'cron'; readonly expression: string; readonly zone: string };

export type ParsedSchedule =
  | {
      readonly ok: true;
      readonly schedule: Schedule;
      /** Read by the clock of the person's zone, which has to be known. */
      readonly local: boolean;
    }
  | { readonly ok: false; /** One sentence. */ readonly reason: string };

const SHORTEST_STEP_MS = 10_000;
const LONGEST_MS = 5 * 366 * 86_400_000;
const MINUTE_MS = 60_000;
/** In the hours that a zone has twice each minute may have been before. */
const MOST_TRIES = 3_000;

/** Compiled, by expression. */
const patterns = new RecentMap<string, Cron>(128);

/** The first time strictly after a moment; null: never again. Pure. */
export function nextRun(schedule: Schedule, after: number): number | null {
  switch (schedule.type) {
    case 'at':
      return schedule.at > after ? schedule.at : null;
    case 'every': {
      const { stepMs, from } = schedule;
      return from + (Math.floor((after - from) / stepMs) + 1) * stepMs;
    }
    case 'cron':
      return nextByZoneTime(schedule, after);
  }
}

/** The next few, soonest first. */
export function nextRuns(schedule: Schedule, after: number, count: number): readonly number[] {
  const runs: number[] = [];
  for (let at = nextRun(schedule, after); at !== null && runs.length < count; at = nextRun(schedule, at)) runs.push(at);
  return runs;
}

/** `every 2h`, `0 9 * * 1-5 (Europe/Vienna)`, `once, Mon 2027-03-01 09:00 (Europe/Vienna)`. */
export function scheduleText(schedule: Schedule, zone: string): string {
  switch (schedule.type) {
    case 'at':
      return `once, ${localText(schedule.at, zone)}`;
    case 'every':
      return `every ${durationText(schedule.stepMs)}`;
    case 'cron':
      return `${schedule.expression} (${schedule.zone})`;
  }
}

/** The schedule as `parseWhen` reads it, in the zone that a cron expression has of its own. */
export function whenText(schedule: Schedule, zone: string): string {
  switch (schedule.type) {
    case 'at':
      return isoIn(schedule.at, zone);
    case 'every':
      return scheduleText(schedule, zone);
    case 'cron':
      return schedule.expression;
  }
}

/**
 * Reads `in 20m`, `2027-03-01T09:00` (with or without an offset), `09:00`, `tomorrow at 9`, `every 2h` or five fields
 * such as `0 9 * * 1-5`. What has no offset is meant by the clock of `zone`. What never comes is refused.
 */
export function parseWhen(
  text: string,
  { now, zone }: { readonly now: number; readonly zone: string },
): ParsedSchedule {
  const words = text.trim().replace(/\s+/gu, ' ');
  if (!isZone(zone)) return refuse(`There is no time zone ${JSON.stringify(zone)}: name one such as Europe/Vienna.`);
  const [, kind = '', rest = ''] = /^(?<kind>in|every|cron|at) (?<rest>.+)$/iu.exec(words) ?? [];
  switch (kind.toLowerCase()) {
    case 'in':
      return parseIn(rest, now);
    case 'every':
      return parseEvery(rest, now);
    case 'cron':
      return parseCron(rest, zone, now);
    case 'at':
      return parseTime(rest, { now, zone });
    default:
      return words.split(' ').length === 5 && /^[\d*]/u.test(words)
        ? parseCron(words, zone, now)
        : parseTime(words, { now, zone });
  }
}

/** Five fields, in a zone that `isZone` knows. */
export function parseCron(expression: string, zone: string, now: number): ParsedSchedule {
  const schedule = { type: 'cron', expression: expression.trim().replace(/\s+/gu, ' '), zone } as const;
  if (!isZone(zone)) return refuse(`There is no time zone ${JSON.stringify(zone)}: name one such as Europe/Vienna.`);
  if (schedule.expression.split(' ').length !== 5) {
    return refuse(
      `Expected the five fields minute, hour, day, month and weekday, such as 0 9 * * 1-5, but ${JSON.stringify(expression)} was given.`,
    );
  }
  try {
    patternOf(schedule.expression);
  } catch (error) {
    const why = errorMessage(error).replace(/^CronPattern: /u, '');
    return refuse(`${JSON.stringify(expression)} is not a cron expression: ${why.replace(/\.$/u, '')}.`);
  }
  if (nextRun(schedule, now) === null) {
    return refuse(`${JSON.stringify(expression)} never occurs: no year has such a day.`);
  }
  return { ok: true, schedule, local: true };
}

/** A length of time such as `2h`, in fixed steps from `from`. */
export function parseEvery(text: string, from: number): ParsedSchedule {
  const stepMs = parseDuration(/^\d/u.test(text.trim()) ? text : `1 ${text}`);
  if (stepMs === null) {
    return refuse(
      `Expected a length of time alone, such as "every 2h", or cron fields for times of day, such as "0 9 * * *", but ${quoted(`every ${text}`)} was given.`,
    );
  }
  if (stepMs < SHORTEST_STEP_MS) return refuse(`The shortest step is 10 seconds, but ${quoted(text)} was given.`);
  if (stepMs > LONGEST_MS) return refuse(`${quoted(text)} is too long: at most five years.`);
  return { ok: true, schedule: { type: 'every', stepMs, from }, local: false };
}

/** A date with a time. Does not refuse what is past. */
export function parseMoment(text: string, zone: string): { readonly at: number; readonly local: boolean } | null {
  const match =
    /^(?<date>\d{4}-\d{2}-\d{2})[T ](?<time>\d{2}:\d{2})(?<seconds>:\d{2})?(?<fraction>\.\d{1,3})?(?<offset>Z|[+-]\d{2}:?\d{2})?$/iu.exec(
      text.trim(),
    );
  const { date = '', time = '', seconds = ':00', fraction = '', offset } = match?.groups ?? {};
  if (match === null) return null;
  const local = Date.parse(`${date}T${time}${seconds}${fraction}Z`);
  // Date takes the 30th of February for the 2nd of March.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(`${date}T${time}`)) return null;
  if (offset === undefined) return { at: instantOf(local - (local % 1_000), zone) + (local % 1_000), local: true };
  const sign = /^(?<sign>[+-])(?<hours>\d{2}):?(?<minutes>\d{2})$/u.exec(offset)?.groups;
  const minutes = sign === undefined ? 0 : Number(sign['hours']) * 60 + Number(sign['minutes']);
  return { at: local - (sign?.['sign'] === '-' ? -minutes : minutes) * MINUTE_MS, local: false };
}

function parseIn(text: string, now: number): ParsedSchedule {
  const ms = parseDuration(text);
  if (ms === null) return refuse(`Expected a length of time such as "in 20m", but ${quoted(`in ${text}`)} was given.`);
  if (ms < 1_000) return refuse(`${quoted(`in ${text}`)} is now: name a time in the future.`);
  if (ms > LONGEST_MS) return refuse(`${quoted(`in ${text}`)} is too far away: at most five years.`);
  return { ok: true, schedule: { type: 'at', at: now + ms }, local: false };
}

function parseTime(text: string, { now, zone }: { readonly now: number; readonly zone: string }): ParsedSchedule {
  const found = parseMoment(text, zone) ?? clockTime(text, { now, zone });
  if (found === null) {
    return refuse(
      `Expected a time such as "in 20m", "2027-03-01T09:00", "tomorrow at 9", "every 2h" or "0 9 * * 1-5", but ${quoted(text)} was given.`,
    );
  }
  const { at, local } = found;
  if (at <= now) return refuse(`${quoted(text)} is past: it is ${localText(now, zone)} now.`);
  if (at - now > LONGEST_MS) return refuse(`${quoted(text)} is too far away: at most five years.`);
  return { ok: true, schedule: { type: 'at', at }, local };
}

/** `9`, `09:00`, `6 pm`, `tomorrow at 9`; without a day the next one. */
function clockTime(
  text: string,
  { now, zone }: { readonly now: number; readonly zone: string },
): { readonly at: number; readonly local: boolean } | null {
  const match =
    /^(?:(?<day>today|tomorrow)(?: at)? )?(?<hour>\d{1,2})(?::(?<minute>\d{2}))? ?(?<half>am|pm|o['’]?clock)?(?: (?<later>today|tomorrow))?$/iu.exec(
      text.trim(),
    );
  if (match?.groups === undefined) return null;
  const { day, later, hour: hours = '', minute = '0', half = '' } = match.groups;
  const isHalf = /^[ap]m$/iu.test(half);
  const hour = isHalf ? (Number(hours) % 12) + (half.toLowerCase() === 'pm' ? 12 : 0) : Number(hours);
  if (hour > 23 || Number(minute) > 59 || (isHalf && (Number(hours) > 12 || hours === '0'))) return null;
  const local = new Date(zoneTimeOf(now, zone));
  const named = (day ?? later)?.toLowerCase();
  const onDay = (more: number): number =>
    instantOf(
      Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() + more, hour, Number(minute)),
      zone,
    );
  if (named !== undefined) return { at: onDay(named === 'tomorrow' ? 1 : 0), local: true };
  const today = onDay(0);
  return { at: today > now ? today : onDay(1), local: true };
}

/**
 * The fields are matched on local time alone and each match is looked up as a moment. Later local times are never earlier
 * moments, so the first that lies ahead is the next.
 */
function nextByZoneTime({ expression, zone }: { expression: string; zone: string }, after: number): number | null {
  const pattern = patternOf(expression);
  let local = Math.floor(zoneTimeOf(after, zone) / MINUTE_MS) * MINUTE_MS;
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const next = pattern.nextRun(new Date(local));
    if (next === null) return null;
    local = next.getTime();
    const at = instantOf(local, zone);
    if (at > after) return at;
  }
  return null;
}

function patternOf(expression: string): Cron {
  const known = patterns.get(expression);
  if (known !== undefined) return known;
  const pattern = new Cron(expression, { mode: '5-part', utcOffset: 0, paused: true });
  patterns.set(expression, pattern);
  return pattern;
}

function refuse(reason: string): ParsedSchedule {
  return { ok: false, reason };
}

function quoted(text: string): string {
  return JSON.stringify(cut(text, 80));
}
