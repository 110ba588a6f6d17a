import type { BackfillPorts, Missed } from './backfill-ports.ts';

/** Pages that are read ahead of one that ends before the restore. */
const MOST_PAGES = 50;

/**
 * `missed` for a home that was restored from a backup at `restoredAt` (milliseconds since 1970; undefined: it was not).
 * After the backup the assistant that was replaced may have gone on, and its answers are in the chat. What was written
 * before its own last word there had reached it, so that is left out; what comes after it, no one has read.
 */
export function withoutAnswered<Data>(
  { missed, ids }: Pick<BackfillPorts<Data>, 'missed' | 'ids'>,
  { restoredAt, isOwn }: { readonly restoredAt: number | undefined; readonly isOwn: (data: Data) => boolean },
): BackfillPorts<Data>['missed'] {
  if (restoredAt === undefined) return missed;
  const isBefore = ({ id }: { readonly id: string }): boolean => ids.timeOf(id) <= restoredAt;
  return async (place, after) => {
    let page = await missed(place, after);
    for (let pages = 1; pages < MOST_PAGES; pages += 1) {
      const last = page.messages.at(-1);
      if (!page.hasMore || last === undefined || !isBefore(last)) break;
      page = joined(page, await missed(place, last.id));
    }
    const answered = page.messages.findLastIndex((one) => isBefore(one) && isOwn(one.data));
    return { ...page, messages: page.messages.slice(answered + 1) };
  };
}

function joined<Data>(first: Missed<Data>, next: Missed<Data>): Missed<Data> {
  return {
    messages: [...first.messages, ...next.messages],
    hasMore: next.hasMore,
    isCut: first.isCut === true || next.isCut === true,
  };
}
