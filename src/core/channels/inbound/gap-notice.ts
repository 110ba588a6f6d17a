import { createHash } from 'node:crypto';
import { oneLine } from '../../util/text.ts';
import type { ChannelContext } from '../channel.ts';

const MOST_NAMED = 10;
const LONGEST_NAME = 60;
const DAY_MS = 86_400_000;

/** Tells the owner once in which conversations messages are left that were written while there was no connection. */
export async function notifyGap(
  { tellOwner, clock, log }: Pick<ChannelContext, 'tellOwner' | 'clock' | 'log'>,
  places: readonly string[],
): Promise<void> {
  const named = places.slice(0, MOST_NAMED).map((place) => `- ${oneLine(place, LONGEST_NAME)}`);
  const more = places.length > named.length ? [`- and ${places.length - named.length} more`] : [];
  const text = [
    'I was offline for a long time. In these conversations I did not read all messages that were written meanwhile, because there are too many or they are too old:',
    ...named,
    ...more,
    'If something there still needs me, write it again.',
  ].join('\n');
  const names = createHash('sha256').update(JSON.stringify(places)).digest('hex').slice(0, 16);
  log.warn('backfill: messages not looked at', { places: places.slice(0, MOST_NAMED), count: places.length });
  await tellOwner(`not-looked-at:${Math.floor(clock.now() / DAY_MS)}:${names}`, text);
}
