import { instantOf, machineZone, zoneTimeOf } from '../../util/time-zone.ts';
import { dateOf, todayOf, type Days } from './calendar.ts';
import { chinese } from './chinese.ts';
import { english } from './english.ts';
import { german } from './german.ts';
import { FIGURES, numberOf, type Direction, type TimeRule } from './rule.ts';

/** The time that a question names. */
export interface QuestionTime {
  /** Milliseconds since 1970, both ends included; undefined: open. */
  readonly since?: number;
  readonly until?: number;
  /** The question without the words that name the time. */
  readonly rest: string;
  /** Those words, as far as they name a date that a text may name too, such as "March 2025". */
  readonly dates: readonly string[];
}

const DAY_MS = 86_400_000;
const LONGEST = 1_000;

const DIRECTIONS: Readonly<Record<string, Direction>> = {
  ...english.directions,
  ...german.directions,
  ...chinese.directions,
};

const RULES: readonly TimeRule[] = [
  {
    find: FIGURES,
    days: ({ year, month, day }, today) =>
      dateOf(today, { year: numberOf(year), month: Number(month), day: numberOf(day) }),
    isDate: true,
  },
  ...english.rules,
  ...german.rules,
  ...chinese.rules,
];

interface Named {
  readonly index: number;
  readonly text: string;
  readonly days: Days;
  readonly isDate: boolean;
}

/**
 * The time that a question in English, German or Chinese names: "last week", "vor drei Tagen", "三月". Undefined: it names
 * none, or one that is still to come. What stands in quotes is no time. `timezone`: IANA name, or null for the machine's.
 */
export function timeInQuestion(
  question: string,
  { now, timezone }: { readonly now: number; readonly timezone: string | null },
): QuestionTime | undefined {
  const zone = timezone ?? machineZone();
  const day = Math.floor(zoneTimeOf(now, zone) / DAY_MS);
  const named = timesNamed(question.slice(0, LONGEST), day);
  if (named.length === 0) return undefined;
  const { first, last } = named.map(({ days }) => days).reduce(joined);
  if (first !== null && (first > day || (last !== null && last < first))) return undefined;
  return {
    ...(first === null ? {} : { since: instantOf(first * DAY_MS, zone) }),
    ...(last === null ? {} : { until: instantOf((last + 1) * DAY_MS, zone) - 1 }),
    rest: without(question, named),
    dates: named.filter(({ isDate }) => isDate).map(({ text }) => text),
  };
}

/** The longest of those that overlap, in the order of the text. */
function timesNamed(question: string, day: number): readonly Named[] {
  const text = question.replaceAll(/["“”„«»][^"“”„«»]+["“”„«»]/gu, (quoted) => '\0'.repeat(quoted.length));
  const today = todayOf(day);
  const found: Named[] = [];
  for (const { find, days, isDate = false } of RULES) {
    for (const match of text.matchAll(find)) {
      const groups = match.groups ?? {};
      const plain = days(groups, today);
      if (plain === null) continue;
      const how = groups['how'];
      found.push({
        index: match.index,
        text: match[0],
        days: how === undefined ? plain : opened(plain, DIRECTIONS[how.toLowerCase()]),
        isDate,
      });
    }
  }
  const longestFirst = found.toSorted((a, b) => b.text.length - a.text.length || a.index - b.index);
  const kept: Named[] = [];
  for (const one of longestFirst) if (!kept.some((other) => overlap(one, other))) kept.push(one);
  return kept.toSorted((a, b) => a.index - b.index);
}

function overlap(a: Named, b: Named): boolean {
  return a.index < b.index + b.text.length && b.index < a.index + a.text.length;
}

function opened({ first, last }: Days, direction: Direction | undefined): Days {
  switch (direction) {
    case 'since':
      return { first, last: null };
    case 'after':
      return { first: last === null ? null : last + 1, last: null };
    case 'before':
      return { first: null, last: first === null ? null : first - 1 };
    case 'until':
      return { first: null, last };
    case undefined:
      return { first, last };
  }
}

/** "Since March" and "until May", "from March" and "until May" are what lies between; otherwise all of both. */
function joined(a: Days, b: Days): Days {
  if (a.first !== null && b.first === null) return { first: a.first, last: b.last };
  if (b.last === null && a.first === null) return { first: b.first, last: a.last };
  return {
    first: a.first === null || b.first === null ? null : Math.min(a.first, b.first),
    last: a.last === null || b.last === null ? null : Math.max(a.last, b.last),
  };
}

function without(question: string, named: readonly Named[]): string {
  let rest = question;
  for (const { index, text } of named.toReversed()) rest = `${rest.slice(0, index)} ${rest.slice(index + text.length)}`;
  return rest.replaceAll(/\s+/gu, ' ').trim();
}
