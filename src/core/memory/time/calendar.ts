/** Whole days, both ends included, as days since 1970-01-01 in the calendar of the person. Null: open. */
export interface Days {
  readonly first: number | null;
  readonly last: number | null;
}

/** The day that a question is asked on. */
export interface Today {
  /** Days since 1970-01-01. */
  readonly day: number;
  /** Monday is 0. */
  readonly weekday: number;
  readonly year: number;
  /** January is 1. */
  readonly month: number;
}

export type Unit = 'hour' | 'day' | 'week' | 'month' | 'year';

/** How many: exactly, or `few` for "a few", "einige", "几". */
export type Amount = number | 'few';

const DAY_MS = 86_400_000;
const LENGTH: Readonly<Record<Unit, number>> = { hour: 0, day: 1, week: 7, month: 30.44, year: 365.25 };
const FEW = { least: 2, most: 7 };

export function todayOf(day: number): Today {
  const date = new Date(day * DAY_MS);
  return { day, weekday: (day + 3) % 7, year: date.getUTCFullYear(), month: date.getUTCMonth() + 1 };
}

function dayOf(year: number, month: number, day: number): number {
  return Date.UTC(year, month - 1, day) / DAY_MS;
}

/** So long ago, as exactly as people say it: three days are that day, three weeks those days and three more on each side. */
export function ago(today: Today, amount: Amount, unit: Unit): Days {
  const { least, most } = amount === 'few' ? FEW : { least: amount, most: amount };
  const slack = unit === 'day' ? 0 : unit === 'hour' ? 1 : Math.floor(LENGTH[unit] / 2);
  const at = (count: number): number => today.day - Math.round(count * LENGTH[unit]);
  return { first: at(most) - slack, last: Math.min(today.day, at(least) + slack) };
}

/** The time up to now: "the last three days". */
export function lately(today: Today, amount: Amount, unit: Unit): Days {
  const count = amount === 'few' ? FEW.most : amount;
  return { first: today.day - Math.max(1, Math.round(count * LENGTH[unit])), last: today.day };
}

/** `back`: 0 for the one that runs, 1 for the one before. */
export function wholeUnit(today: Today, unit: 'week' | 'month' | 'year' | 'weekend', back: number): Days {
  const monday = today.day - today.weekday - 7 * back;
  switch (unit) {
    case 'week':
      return { first: monday, last: monday + 6 };
    case 'weekend': {
      // Before Saturday the newest weekend is that of the week before.
      const saturday = back === 0 && today.weekday < 5 ? monday - 2 : monday + 5;
      return { first: saturday, last: saturday + 1 };
    }
    case 'month':
      return monthOf(today.year, today.month - back);
    case 'year':
      return yearOf(today.year - back);
  }
}

/** The newest such weekday before today; `week`: that of a week so many before this one. */
export function weekdayOf(today: Today, weekday: number, week: number | null = null): Days {
  const day =
    week === null
      ? today.day - ((today.weekday - weekday + 7) % 7 || 7)
      : today.day - today.weekday - 7 * week + weekday;
  return { first: day, last: day };
}

export function yearOf(year: number): Days {
  return { first: dayOf(year, 1, 1), last: dayOf(year, 12, 31) };
}

function monthOf(year: number, month: number): Days {
  return { first: dayOf(year, month, 1), last: dayOf(year, month + 1, 0) };
}

/** A month or a day of one; without a year the newest that has begun. Null: there is no such day. */
export function dateOf(
  today: Today,
  {
    year = null,
    month,
    day = null,
  }: { readonly year?: number | null; readonly month: number; readonly day?: number | null },
): Days | null {
  if (month < 1 || month > 12) return null;
  const years = year === null ? [today.year, today.year - 1] : [year];
  for (const one of years) {
    const whole = monthOf(one, month);
    if (
      day === null
        ? (whole.first ?? 0) <= today.day || year !== null
        : dayOf(one, month, day) <= today.day || year !== null
    ) {
      if (day === null) return whole;
      const at = dayOf(one, month, day);
      return day >= 1 && at <= (whole.last ?? 0) ? { first: at, last: at } : null;
    }
  }
  return null;
}
