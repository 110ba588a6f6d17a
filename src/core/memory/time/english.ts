import {
  ago,
  dateOf,
  lately,
  wholeUnit,
  weekdayOf,
  yearOf,
  type Amount,
  type Days,
  type Today,
  type Unit,
} from './calendar.ts';
import { numberOf, wordRule, type Found, type Language } from './rule.ts';

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];
const NUMBERS = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
];

const MONTH =
  'january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec';
const HOW = 'since|after|before|until|till';
const LEAD = String.raw`(?:(?:(?<how>${HOW})|on|in|during|over|within|throughout|from)\s+)?(?:the\s+)?`;
const COUNT = String.raw`(?<count>\d{1,3}|an?|a\s+few|several|(?:a\s+)?couple(?:\s+of)?|few|${NUMBERS.slice(1).join('|')})`;
const PART = String.raw`(?:\s+(?:morning|afternoon|evening|night))?`;

/** Months that are other words or the names of people too. */
const DOUBTFUL = /^(?:may|march|mar|april|june|august)$/iu;

function amountOf(text = '1'): Amount {
  const plain = text.toLowerCase().replace(/\s+/gu, ' ');
  if (/^\d+$/u.test(plain)) return Number(plain);
  if (plain === 'a' || plain === 'an') return 1;
  const named = NUMBERS.indexOf(plain);
  return named > 0 ? named : 'few';
}

function monthOf(text = ''): number {
  return MONTHS.indexOf(text.slice(0, 3).toLowerCase()) + 1;
}

function unitOf(text = ''): Unit {
  return text.toLowerCase().replace(/s$/u, '') as Unit;
}

/** "May 5", "on May 5" and "5 May" are days; "may 5 people come" and "room 5 may be free" are not. */
function dayOf(
  { month = '', day, year, suffix, lead, how, end }: Found,
  today: Today,
  isDayFirst: boolean,
): Days | null {
  const isVerb = /^(?:may|march|mar)$/iu.test(month);
  const isCapital = /^\p{Lu}/u.test(month);
  const isClear =
    [year, suffix, lead, how].some((sign) => sign !== undefined) || (isDayFirst ? isCapital : end !== undefined);
  if (isVerb && !isClear) return null;
  return dateOf(today, { year: numberOf(year), month: monthOf(month), day: numberOf(day) });
}

export const english: Language = {
  directions: { since: 'since', after: 'after', before: 'before', until: 'until', till: 'until' },
  rules: [
    {
      find: wordRule(`${LEAD}(?<name>day\\s+before\\s+yesterday|yesterday|last\\s+night|today|this\\s+morning)${PART}`),
      days: ({ name = '' }, today) => {
        const back = /^day/iu.test(name) ? 2 : /^(?:yesterday|last)/iu.test(name) ? 1 : 0;
        return { first: today.day - back, last: today.day - (/^last/iu.test(name) ? 0 : back) };
      },
    },
    {
      find: wordRule(`(?:(?<how>${HOW})\\s+)?${COUNT}\\s+(?<unit>hours?|days?|weeks?|months?|years?)\\s+ago`),
      days: ({ count, unit }, today) => ago(today, amountOf(count), unitOf(unit)),
    },
    {
      find: wordRule(`${LEAD}(?:last|past|previous)\\s+(?:${COUNT}\\s+)?(?<unit>days|weeks|months|years)`),
      days: ({ count = 'few', unit }, today) => lately(today, amountOf(count), unitOf(unit)),
    },
    {
      find: wordRule(`${LEAD}(?<which>last|previous|past|this)\\s+(?<unit>weekend|week|month|year)`),
      days: ({ which = '', unit = '' }, today) => {
        const whole = unit.toLowerCase() as 'week' | 'month' | 'year' | 'weekend';
        if (/^past$/iu.test(which) && whole !== 'weekend') return lately(today, 1, whole);
        if (whole === 'weekend') return wholeUnit(today, whole, today.weekday < 5 ? 0 : 1);
        return wholeUnit(today, whole, /^this$/iu.test(which) ? 0 : 1);
      },
    },
    {
      find: wordRule(`(?:at|on|over)\\s+the\\s+weekend`),
      days: (_, today) => wholeUnit(today, 'weekend', 0),
    },
    {
      find: wordRule(
        `(?:(?<how>${HOW})|on|last|this\\s+past)\\s+(?:last\\s+)?(?<weekday>${WEEKDAYS.join('|')})${PART}`,
      ),
      days: ({ weekday = '' }, today) => weekdayOf(today, WEEKDAYS.indexOf(weekday.toLowerCase())),
    },
    {
      find: wordRule(
        `(?:between|from)\\s+(?<month>${MONTH})(?:\\s+(?<year>\\d{4}))?\\s+(?:and|to|until|till)\\s+(?<other>${MONTH})(?:\\s+(?<otherYear>\\d{4}))?`,
      ),
      days: ({ month, year, other, otherYear }, today) => {
        const last = dateOf(today, { year: numberOf(otherYear ?? year), month: monthOf(other) })?.last ?? null;
        const first = dateOf(today, { year: numberOf(year ?? otherYear), month: monthOf(month) })?.first ?? null;
        return { first, last };
      },
      isDate: true,
    },
    {
      find: wordRule(
        `(?:(?:(?<how>${HOW})|(?<lead>on|from|by))\\s+)?(?:the\\s+)?(?<day>\\d{1,2})(?<suffix>st|nd|rd|th)?\\s+(?:of\\s+)?(?<month>${MONTH})(?:,?\\s+(?<year>\\d{4}))?(?:(?<end>(?=\\s*(?:[?.!,;]|$)))|)`,
      ),
      days: (found, today) => dayOf(found, today, true),
      isDate: true,
    },
    {
      find: wordRule(
        `(?:(?:(?<how>${HOW})|(?<lead>on|from|by))\\s+)?(?<month>${MONTH})\\.?\\s+(?:the\\s+)?(?<day>\\d{1,2})(?<suffix>st|nd|rd|th)?(?:,?\\s+(?<year>\\d{4}))?(?:(?<end>(?=\\s*(?:[?.!,;]|$)))|)`,
      ),
      days: (found, today) => dayOf(found, today, false),
      isDate: true,
    },
    {
      find: wordRule(
        `(?:(?:(?<how>${HOW})|in|during|of)\\s+)?(?<month>${MONTH})\\.?,?\\s+(?:of\\s+)?(?<year>(?:19|20)\\d\\d)`,
      ),
      days: ({ month, year }, today) => dateOf(today, { month: monthOf(month), year: numberOf(year) }),
      isDate: true,
    },
    {
      find: wordRule(
        `(?:(?<how>${HOW})|(?<lead>in|during|throughout|last|this|(?:in\\s+|since\\s+)?(?:early|mid|late)|(?:(?:at|in|since)\\s+)?(?:the\\s+)?(?:beginning|start|middle|end)\\s+of))[\\s-]+(?:early\\s+|late\\s+|mid-?\\s*)?(?<month>${MONTH})`,
      ),
      days: ({ month = '', lead = '', how = '' }, today) => {
        const isLower = /^\p{Ll}/u.test(month);
        const isClear = /^(?:in|during|throughout)/iu.test(lead);
        if (DOUBTFUL.test(month) && (/^(?:after|before)$/iu.test(how) || (isLower && !isClear))) return null;
        return dateOf(today, { month: monthOf(month) });
      },
      isDate: true,
    },
    {
      find: wordRule(`(?:(?<how>${HOW})|in|during|throughout)\\s+(?:the\\s+year\\s+)?(?<year>(?:19|20)\\d\\d)`),
      days: ({ year }) => yearOf(Number(year)),
      isDate: true,
    },
  ],
};
