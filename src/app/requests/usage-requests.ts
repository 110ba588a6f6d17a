import type { App } from '../../core/app.ts';
import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import type { UsageSums } from '../../core/gateway/operations/usage.ts';
import { addSums, NOTHING, type UsageSum } from '../../core/journal/usage.ts';
import { localTime, startOfDay } from '../../core/util/time-zone.ts';

const DAY_MS = 86_400_000;

/** Names that a series tells apart, beside `other`. */
const MOST_NAMES = 11;
const OTHER = 'other';

/** What a person may ask about tokens and cost. */
export function usageRequests(app: App): Pick<RequestHandlers, 'usage' | 'usageSeries'> {
  const { usage } = app.journal;
  const { timezone } = app.config.agent;
  const nameOf = (by: string, name: string): string => {
    if (by !== 'job') return name;
    const origin = app.program.origins.all.find((one) => one.hasJobs === true && name.startsWith(`${one.name}:`));
    return origin === undefined ? name : name.slice(origin.name.length + 1);
  };
  const sinceOf = (days: number): number => {
    const today = startOfDay(app.clock.now(), timezone);
    // The day may begin an hour earlier or later by the clock: half a day before it lies within the day before.
    return days === 1 ? today : startOfDay(today - (days - 1) * DAY_MS + DAY_MS / 2, timezone);
  };
  return {
    usage: async ({ by, days }) => {
      const since = sinceOf(days);
      const sums = by === 'day' ? daySums(usage.grouped('quarter', since), timezone) : usage.grouped(by, since);
      return { since, rows: sums.map((sum) => flat({ ...sum, name: nameOf(by, sum.name) })) };
    },
    usageSeries: async ({ by, days }) => {
      const since = sinceOf(days);
      const sums = usage.series(by, since).map((sum) => ({ ...sum, name: nameOf(by, sum.name) }));
      const total = sumsBy(sums, ({ name }) => name).toSorted(byCost);
      const shown = new Set(total.slice(0, MOST_NAMES).map(({ name }) => name));
      const named = sums.map((sum) => ({ ...sum, name: shown.has(sum.name) ? sum.name : OTHER }));
      const all = sums.reduce(addSums, NOTHING).usage;
      const byDay = sumsBy(named, ({ quarter, name }) => `${localTime(quarter, timezone).date} ${name}`);
      return {
        since,
        rows: sumsBy(named, ({ name }) => name)
          .toSorted(byCost)
          .map(flat),
        days: byDay.map((sum) => {
          const [day = '', ...name] = sum.name.split(' ');
          return { day, ...flat({ ...sum, name: name.join(' ') }) };
        }),
        cacheHitRate: all.input === 0 ? null : all.cached / all.input,
        budgets: app.budget.today().map(({ key, limit, used }) => ({
          name: `agent.budget.${key}`,
          unit: key === 'dayUsd' ? ('usd' as const) : ('tokens' as const),
          limit,
          used,
          left: Math.max(0, limit - used),
        })),
      };
    },
  };
}

function flat({ name, calls, usage: { input, cached, output }, costUsd, unpriced }: NamedSum): UsageSums {
  return { name, calls, input, cached, output, costUsd, unpriced };
}

function byCost(a: NamedSum, b: NamedSum): number {
  return b.costUsd - a.costUsd || b.usage.input + b.usage.output - a.usage.input - a.usage.output;
}

/** One sum for each key, in the order in which the keys first occur. */
function sumsBy<Sum extends UsageSum>(sums: readonly Sum[], keyOf: (sum: Sum) => string): readonly NamedSum[] {
  const found = new Map<string, NamedSum>();
  for (const sum of sums) {
    const name = keyOf(sum);
    found.set(name, { name, ...addSums(found.get(name) ?? NOTHING, sum) });
  }
  return [...found.values()];
}

type NamedSum = UsageSum & { readonly name: string };

/** Adds up the quarters of an hour of each day in this zone; a day's name is its date. */
function daySums(quarters: readonly NamedSum[], timezone: string | null): readonly NamedSum[] {
  return sumsBy(quarters, ({ name }) => localTime(Number(name), timezone).date);
}
