import type { RequestHandlers } from '../../gateway/operations/operations.ts';
import { addSums, NOTHING } from '../../journal/usage.ts';
import { localTime, startOfDay } from '../../util/time-zone.ts';
import type { Stores } from '../storage/stores.ts';

const DAY_MS = 86_400_000;

/** What a person may ask about tokens and cost. */
export function usageRequests(
  { usage }: Stores['journal'],
  {
    now,
    timezone,
  }: {
    readonly now: () => number;
    /** Null: that of the machine. */
    readonly timezone: string | null;
  },
): Pick<RequestHandlers, 'usage'> {
  return {
    usage: async ({ by, days }) => {
      const today = startOfDay(now(), timezone);
      // The day may begin an hour earlier or later by the clock: half a day before it lies within the day before.
      const since = days === 1 ? today : startOfDay(today - (days - 1) * DAY_MS + DAY_MS / 2, timezone);
      const sums = by === 'day' ? daySums(usage.grouped('quarter', since), timezone) : usage.grouped(by, since);
      return {
        since,
        rows: sums.map(({ name, calls, usage: { input, cached, output }, costUsd, unpriced }) => ({
          name: by === 'job' ? name.replace(/^cron:/u, '') : name,
          calls,
          input,
          cached,
          output,
          costUsd,
          unpriced,
        })),
      };
    },
  };
}

type NamedSum = ReturnType<Stores['journal']['usage']['grouped']>[number];

/** Adds up the quarters of an hour of each day in this zone; a day's name is its date. */
function daySums(quarters: readonly NamedSum[], timezone: string | null): readonly NamedSum[] {
  const days = new Map<string, NamedSum>();
  for (const quarter of quarters) {
    const name = localTime(Number(quarter.name), timezone).date;
    days.set(name, { name, ...addSums(days.get(name) ?? NOTHING, quarter) });
  }
  return [...days.values()];
}
