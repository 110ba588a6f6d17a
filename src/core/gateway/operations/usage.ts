import * as z from 'zod';
import type { App } from '../../app.ts';
import { addSums, NOTHING, type UsageSum } from '../../journal/usage.ts';
import { localTime, startOfDay } from '../../util/time-zone.ts';
import { listOf, operation } from './operation.ts';

const DAY_MS = 86_400_000;

/** Names that a series tells apart, beside `other`. */
const MOST_NAMES = 11;
const OTHER = 'other';

/** The model calls of a day, model, source, session or job. */
const usageSums = z.object({
  name: z.string(),
  calls: z.number(),
  /** Tokens; `input` counts the cached ones too. */
  input: z.number(),
  cached: z.number(),
  output: z.number(),
  /** US dollars, of the calls whose price is known. */
  costUsd: z.number(),
  /** Calls whose price is unknown. */
  unpriced: z.number(),
});
export type UsageSums = Readonly<z.output<typeof usageSums>>;

const usageSeriesAnswer = z.object({
  /** Milliseconds since 1970. */
  since: z.number(),
  /** Over all days, the most costly first; beyond eleven they are together as `other`. */
  rows: listOf(usageSums),
  /** Oldest first; days without a call are left out. */
  days: listOf(
    usageSums.extend({
      /** Its date, `2026-11-25`, in the time zone of the person. */
      day: z.string(),
    }),
  ),
  /** Share of the input tokens that came from the cache of the provider, 0 to 1; null: there was no call. */
  cacheHitRate: z.number().nullable(),
  /** The budgets of a whole day that are set, as of today. */
  budgets: listOf(
    z.object({
      /** The setting. */
      name: z.string(),
      unit: z.enum(['usd', 'tokens']),
      limit: z.number(),
      used: z.number(),
      left: z.number(),
    }),
  ),
});
export type UsageSeries = z.output<typeof usageSeriesAnswer>;

export const usageSeries = operation({
  name: 'usageSeries',
  about:
    'Returns tokens and cost of each of the last days by model, source or job, the share of cached input, and what is left of the budgets of today.',
  changes: null,
  input: z.object({
    by: z.enum(['model', 'source', 'job']).describe('What the sums of a day are told apart by.'),
    days: z.int().min(1).max(366).describe('How many days, today included.'),
  }),
  output: usageSeriesAnswer,
  run: async (app, { by, days }) => {
    const since = sinceOf(app, days);
    const { timezone } = app.config.agent;
    const sums = app.journal.usage.series(by, since).map((sum) => ({ ...sum, name: nameOf(app, by, sum.name) }));
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
});

export const usage = operation({
  name: 'usage',
  about: 'Returns tokens and cost of the model calls of the last days, today included.',
  changes: null,
  input: z.object({
    by: z.enum(['day', 'model', 'source', 'session', 'job']).describe('One row for each of these.'),
    days: z.int().min(1).max(3_660).describe('How many days, today included.'),
  }),
  output: z.object({
    /** Milliseconds since 1970. */
    since: z.number(),
    rows: listOf(usageSums),
  }),
  run: async (app, { by, days }) => {
    const { usage: calls } = app.journal;
    const since = sinceOf(app, days);
    const sums =
      by === 'day' ? daySums(calls.grouped('quarter', since), app.config.agent.timezone) : calls.grouped(by, since);
    return { since, rows: sums.map((sum) => flat({ ...sum, name: nameOf(app, by, sum.name) })) };
  },
});

function nameOf({ program }: App, by: string, name: string): string {
  if (by !== 'job') return name;
  const origin = program.origins.all.find((one) => one.hasJobs === true && name.startsWith(`${one.name}:`));
  return origin === undefined ? name : name.slice(origin.name.length + 1);
}

function sinceOf({ clock, config }: App, days: number): number {
  const { timezone } = config.agent;
  const today = startOfDay(clock.now(), timezone);
  // The day may begin an hour earlier or later by the clock: half a day before it lies within the day before.
  return days === 1 ? today : startOfDay(today - (days - 1) * DAY_MS + DAY_MS / 2, timezone);
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
