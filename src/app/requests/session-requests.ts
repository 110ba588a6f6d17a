import type { RequestHandlers } from '../../gateway/operations/operations.ts';
import { addSums, NOTHING } from '../../journal/usage.ts';
import { AppError } from '../../util/errors.ts';
import { localTime, startOfDay } from '../../util/time-zone.ts';
import { unknownSession } from './session-log.ts';
import type { Stores } from '../storage/stores.ts';

const DAY_MS = 86_400_000;

/** What a person may ask about conversations and their cost. */
export function sessionRequests(
  { journal, search, sessions }: Pick<Stores, 'journal' | 'search' | 'sessions'>,
  {
    now,
    timezone,
  }: {
    readonly now: () => number;
    /** Null: that of the machine. */
    readonly timezone: string | null;
  },
): Pick<RequestHandlers, 'sessionsSearch' | 'sessionsDelete' | 'usage'> {
  return {
    sessionsSearch: async ({ text, count, session }) => {
      const scope = session === undefined ? 'all' : [session];
      const hits = await search.search({ text, limit: count, scope });
      return hits.map(({ source, session: in_ = null, at = null, role = null, snippet }) => ({
        source,
        session: in_,
        at,
        role,
        snippet,
      }));
    },
    sessionsDelete: async ({ session }) => {
      const isBusy =
        journal.turns.open().some((turn) => turn.session === session) || journal.inbox.waiting(session, 1).length > 0;
      if (isBusy) {
        throw new AppError(
          'session-busy',
          `${session} has a turn that runs or waits. Stop it with /stop in that conversation, then delete it.`,
        );
      }
      if (await sessions.delete(session)) {
        search.scheduleSync();
        return null;
      }
      throw unknownSession(session);
    },
    usage: async ({ by, days }) => {
      const today = startOfDay(now(), timezone);
      // The day may begin an hour earlier or later by the clock: half a day before it lies within the day before.
      const since = days === 1 ? today : startOfDay(today - (days - 1) * DAY_MS + DAY_MS / 2, timezone);
      const sums =
        by === 'day' ? daySums(journal.usage.grouped('quarter', since), timezone) : journal.usage.grouped(by, since);
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
