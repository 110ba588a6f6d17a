import { describe, expect, test } from 'vitest';
import { timeInQuestion } from '../../src/core/memory/time/question-time.ts';
import { localMinute } from '../../src/core/util/time-zone.ts';

const VIENNA = 'Europe/Vienna';
/** A Friday. */
const NOW = Date.parse('2026-11-27T10:00:00Z');

/** The days of a question, such as `2026-11-16 2026-11-22`; `-`: open; null: it names no time. */
function daysIn(question: string, { now = NOW, timezone = VIENNA } = {}): string | null {
  const time = timeInQuestion(question, { now, timezone });
  if (time === undefined) return null;
  const { since, until } = time;
  const minute = (at: number | undefined): string => (at === undefined ? '-' : localMinute(at, timezone));
  // Whole days of the person, and nothing else.
  expect(minute(since)).toMatch(/^-$| 00:00$/u);
  expect(minute(until)).toMatch(/^-$| 23:59$/u);
  const [first = '', last = ''] = [minute(since), minute(until)].map((text) => text.split(' ')[0] ?? '');
  return first === last ? first : `${first} ${last}`;
}

const WEEK = '2026-11-16 2026-11-22';
const MARCH = '2026-03-01 2026-03-31';
const MARCH_25 = '2025-03-01 2025-03-31';

describe('a question names a time', () => {
  test.each([
    ['what did we talk about last week', WEEK],
    ['the plumber this week', '2026-11-23 2026-11-29'],
    ['today', '2026-11-27'],
    ['what did I say yesterday evening?', '2026-11-26'],
    ['the day before yesterday', '2026-11-25'],
    ['two days ago', '2026-11-25'],
    ['a few days ago', '2026-11-20 2026-11-25'],
    ['a month ago', '2026-10-13 2026-11-12'],
    ['the last three days', '2026-11-24 2026-11-27'],
    ['over the past two weeks', '2026-11-13 2026-11-27'],
    ['last month', '2026-10-01 2026-10-31'],
    ['last year', '2025-01-01 2025-12-31'],
    ['last weekend', '2026-11-21 2026-11-22'],
    ['on Monday', '2026-11-23'],
    ['last Friday', '2026-11-20'],
    ['since Wednesday', '2026-11-25 -'],
    ['in March', MARCH],
    ['at the end of March', MARCH],
    ['in may', '2026-05-01 2026-05-31'],
    ['in December', '2025-12-01 2025-12-31'],
    ['March 2025', MARCH_25],
    ['since March 2025 until May 2025', '2025-03-01 2025-05-31'],
    ['between March and May 2025', '2025-03-01 2025-05-31'],
    ['before February', '- 2026-01-31'],
    ['until February 2026', '- 2026-02-28'],
    ['on 5 May', '2026-05-05'],
    ['on May 5th', '2026-05-05'],
    ['May 5?', '2026-05-05'],
    ['March 3, 2025', '2025-03-03'],
    ['from 3 March until 10 April', '2026-03-03 2026-04-10'],
    ['in 2024', '2024-01-01 2024-12-31'],
    ['2025-03-04', '2025-03-04'],
    ['2025-03', MARCH_25],
  ])('in English: %s', (question, days) => {
    expect(daysIn(question)).toBe(days);
  });

  test.each([
    ['Was haben wir letzte Woche besprochen?', WEEK],
    ['vorletzte Woche', '2026-11-09 2026-11-15'],
    ['heute früh', '2026-11-27'],
    ['gestern Abend', '2026-11-26'],
    ['vorgestern', '2026-11-25'],
    ['vor drei Tagen', '2026-11-24'],
    ['vor einer Woche', '2026-11-17 2026-11-23'],
    ['vor ein paar Tagen', '2026-11-20 2026-11-25'],
    ['in den letzten drei Wochen', '2026-11-06 2026-11-27'],
    ['im vergangenen Monat', '2026-10-01 2026-10-31'],
    ['letztes Jahr', '2025-01-01 2025-12-31'],
    ['am Wochenende', '2026-11-21 2026-11-22'],
    ['am Montag', '2026-11-23'],
    ['letzten Sonnabend', '2026-11-21'],
    ['seit Mittwoch', '2026-11-25 -'],
    ['im März', MARCH],
    ['im März 2025', MARCH_25],
    ['Ende März', MARCH],
    ['im Mai', '2026-05-01 2026-05-31'],
    ['im Jänner', '2026-01-01 2026-01-31'],
    ['von März bis Mai 2025', '2025-03-01 2025-05-31'],
    ['am 5. Mai', '2026-05-05'],
    ['am 5.5.', '2026-05-05'],
    ['am 05.03.2025', '2025-03-05'],
    ['seit dem 3. Juni', '2026-06-03 -'],
    ['bis zum 3. Juni', '- 2026-06-03'],
    ['im Jahr 2024', '2024-01-01 2024-12-31'],
  ])('in German: %s', (question, days) => {
    expect(daysIn(question)).toBe(days);
  });

  test.each([
    ['上周我们说了什么', WEEK],
    ['上个星期', WEEK],
    ['这周', '2026-11-23 2026-11-29'],
    ['上周三', '2026-11-18'],
    ['周三说了什么', '2026-11-25'],
    ['上周末', '2026-11-21 2026-11-22'],
    ['今天', '2026-11-27'],
    ['昨天', '2026-11-26'],
    ['前天晚上', '2026-11-25'],
    ['三天前', '2026-11-24'],
    ['两个月前', '2026-09-12 2026-10-12'],
    ['最近三天', '2026-11-24 2026-11-27'],
    ['上个月', '2026-10-01 2026-10-31'],
    ['去年', '2025-01-01 2025-12-31'],
    ['三月的旅行', MARCH],
    ['3月份', MARCH],
    ['十一月', '2026-11-01 2026-11-30'],
    ['去年三月', MARCH_25],
    ['2025年3月', MARCH_25],
    ['2025年3月5日', '2025-03-05'],
    ['五月二十三号', '2026-05-23'],
    ['三月到五月', '2026-03-01 2026-05-31'],
    ['三月以来', '2026-03-01 -'],
  ])('in Chinese: %s', (question, days) => {
    expect(daysIn(question)).toBe(days);
  });

  test.each([
    'may 5 people come to dinner?',
    'May I march in?',
    'this may be wrong',
    'room 5 may be free',
    'what did April say about June',
    'Mai hat angerufen',
    'Wer hat nach Mai gefragt?',
    'Frau März',
    'every Monday',
    '每周三',
    '三个月大的狗',
    'next week',
    'nächste Woche',
    '下周三',
    'on 5 December 2026',
    'the 31 February rule',
    'the song "last week"',
    'Lied „gestern Abend“',
    'version 5.5. of it',
    'a second ago',
    '',
  ])('and this is none: %s', (question) => {
    expect(daysIn(question)).toBe(null);
  });

  test('is taken out of it, and the rest stays as it was written', () => {
    const restOf = (question: string): string | undefined =>
      timeInQuestion(question, { now: NOW, timezone: VIENNA })?.rest;
    expect(restOf('What did Mai say in May?')).toBe('What did Mai say ?');
    expect(restOf('Was hat Mai im Mai gesagt?')).toBe('Was hat Mai gesagt?');
    expect(restOf('上周三的会议')).toBe('的会议');
    expect(restOf('yesterday')).toBe('');
  });

  test('by the days of the person, also across a change of the clock', () => {
    const at = Date.parse('2026-11-26T23:30:00Z');
    expect(daysIn('yesterday', { now: at, timezone: 'Europe/Vienna' })).toBe('2026-11-26');
    expect(daysIn('yesterday', { now: at, timezone: 'America/New_York' })).toBe('2026-11-25');
    expect(daysIn('昨天', { now: at, timezone: 'Asia/Shanghai' })).toBe('2026-11-26');
    expect(daysIn('yesterday', { now: Date.parse('2026-03-30T10:00:00Z') })).toBe('2026-03-29');
  });
});
