import { describe, expect, test } from 'vitest';
import { nextRun, nextRuns, parseWhen, whenText, type Schedule } from '../../src/extensions/cron/schedule.ts';
import { isoIn } from '../../src/core/util/time-zone.ts';
import { mismatches, transitions, ZONES } from './slow-reference.ts';

const VIENNA = 'Europe/Vienna';
const NOW = Date.parse('2026-11-21T13:00:00Z');
const DAYS_3 = 3 * 86_400_000;

const when = (text: string, zone = VIENNA, now = NOW): ReturnType<typeof parseWhen> => parseWhen(text, { now, zone });
const schedule = (text: string, zone = VIENNA, now = NOW): Schedule => {
  const parsed = when(text, zone, now);
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed.schedule;
};
const next = (text: string, after = NOW, zone = VIENNA): string => {
  const at = nextRun(schedule(text, zone, after), after);
  return at === null ? 'never' : isoIn(at, zone);
};
const reason = (text: string, zone = VIENNA): string => {
  const parsed = when(text, zone);
  return parsed.ok ? 'accepted' : parsed.reason;
};

describe('what a time means', () => {
  test.each([
    ['in 20m', '2026-11-21T14:20:00+01:00'],
    ['in 2 seconds', '2026-11-21T14:00:02+01:00'],
    ['in 1h30m', '2026-11-21T15:30:00+01:00'],
    ['in an hour and 5 minutes', '2026-11-21T15:05:00+01:00'],
    ['in half an hour', '2026-11-21T14:30:00+01:00'],
    ['2027-03-01T09:00', '2027-03-01T09:00:00+01:00'],
    ['2027-07-01 09:00', '2027-07-01T09:00:00+02:00'],
    ['2027-03-01T09:00:30Z', '2027-03-01T10:00:30+01:00'],
    ['2027-03-01T09:00-05:00', '2027-03-01T15:00:00+01:00'],
    ['tomorrow at 9', '2026-11-22T09:00:00+01:00'],
    ['at 9 tomorrow', '2026-11-22T09:00:00+01:00'],
    ['at 18:30', '2026-11-21T18:30:00+01:00'],
    ['9 am', '2026-11-22T09:00:00+01:00'],
    ['today at 11 pm', '2026-11-21T23:00:00+01:00'],
    ['every 2h', '2026-11-21T16:00:00+01:00'],
    ['every day', '2026-11-22T14:00:00+01:00'],
    ['every 90 seconds', '2026-11-21T14:01:30+01:00'],
    ['0 9 * * 1-5', '2026-11-23T09:00:00+01:00'],
    ['cron 30 18 1 * *', '2026-12-01T18:30:00+01:00'],
    ['0 0 29 2 *', '2028-02-29T00:00:00+01:00'],
  ])('%s is %s', (text, expected) => {
    expect(next(text)).toBe(expected);
  });

  test.each([
    ['0 0 31 2 *', '"0 0 31 2 *" never occurs: no year has such a day.'],
    ['61 * * * *', '"61 * * * *" is not a cron expression: Invalid value for minute: 61.'],
    ['* * * * * *', 'Expected a time such as'],
    ['cron * * *', 'Expected the five fields minute, hour, day, month and weekday'],
    ['2020-01-01T09:00', '"2020-01-01T09:00" is past: it is Sat 2026-11-21 14:00 (Europe/Vienna) now.'],
    ['today at 9', 'is past'],
    ['2027-02-30T09:00', 'Expected a time such as'],
    ['2027-02-28', 'Expected a time such as'],
    ['every 9s', 'The shortest step is 10 seconds'],
    [
      'every 2h from now on',
      'Expected a length of time alone, such as "every 2h", or cron fields for times of day, such as "0 9 * * *", but "every 2h from now on" was given.',
    ],
    ['every now and then', 'Expected a length of time alone, such as "every 2h"'],
    ['in a bit', 'Expected a length of time such as "in 20m"'],
    ['in 0 minutes', 'is now'],
    ['in 900 weeks', 'too far away'],
    ['25:00', 'Expected a time'],
    ['13 pm', 'Expected a time'],
    ['soon', 'Expected a time'],
  ])('%s is refused: %s', (text, expected) => {
    expect(reason(text)).toContain(expected);
  });

  test.each(['0 9 * * 1-5', 'every 2h', 'tomorrow at 9'])('what %s became is read as the same again', (text) => {
    const first = when(text);
    const schedule = first.ok ? first.schedule : undefined;
    expect(schedule).toBeDefined();
    if (schedule !== undefined) expect(when(whenText(schedule, VIENNA))).toMatchObject({ schedule });
  });

  test('an unknown zone is refused', () => {
    expect(reason('0 9 * * *', 'Mars/Olympus')).toBe(
      'There is no time zone "Mars/Olympus": name one such as Europe/Vienna.',
    );
  });

  test('only a local time needs a zone', () => {
    expect(
      ['in 20m', 'every 2h', '2027-03-01T09:00Z', 'tomorrow at 9', '0 9 * * *'].map((text) => when(text)),
    ).toMatchObject([{ local: false }, { local: false }, { local: false }, { local: true }, { local: true }]);
  });
});

describe('where the clock is changed', () => {
  const spring = Date.parse('2027-03-27T20:00:00Z');
  const autumn = Date.parse('2027-10-30T20:00:00Z');

  test('a time in the gap runs at its end, once', () => {
    const runs = nextRuns({ type: 'cron', expression: '*/20 2 * * *', zone: VIENNA }, spring, 2);
    expect(runs.map((at) => isoIn(at, VIENNA))).toEqual(['2027-03-28T03:00:00+02:00', '2027-03-29T02:00:00+02:00']);
    expect(next('2027-03-28T02:30', spring)).toBe('2027-03-28T03:00:00+02:00');
  });

  test('a time that comes twice runs the first time only', () => {
    const runs = nextRuns({ type: 'cron', expression: '30 2 * * *', zone: VIENNA }, autumn, 2);
    expect(runs.map((at) => isoIn(at, VIENNA))).toEqual(['2027-10-31T02:30:00+02:00', '2027-11-01T02:30:00+01:00']);
  });

  test('fixed steps do not care', () => {
    const runs = nextRuns({ type: 'every', stepMs: 3_600_000, from: spring }, spring + 3_600_000 * 4, 3);
    expect(runs.map((at) => at - spring)).toEqual([5, 6, 7].map((hours) => hours * 3_600_000));
  });
});

test('fixed steps keep their phase, also before they began', () => {
  const every: Schedule = { type: 'every', stepMs: 60_000, from: 30_000 };
  expect([-200_000, 0, 29_999, 30_000, 95_000].map((after) => nextRun(every, after))).toEqual([
    -150_000, 30_000, 30_000, 90_000, 150_000,
  ]);
});

describe('within three days of each change of ten years it agrees with a reference that looks at every minute', () => {
  test.each(ZONES)('%s', (zone) => {
    const changes = transitions(zone, Date.UTC(2024, 0, 1), Date.UTC(2034, 0, 1));
    const around = changes.length === 0 ? [Date.UTC(2027, 2, 28, 1)] : changes;
    expect(around.flatMap((at) => mismatches(zone, at - DAYS_3, at + DAYS_3))).toEqual([]);
  });
});
