import * as z from 'zod';
import type { ContextMessage } from '../../bus/messages.ts';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { contextOf, namesNeeded, type ReadingContext } from './inbound.ts';
import type { UserNames } from './user-names.ts';
import { historyPost, type HistoryPost, type PlacedPost } from './post.ts';
import type { SlackClient } from './web-client.ts';

const MOST_POSTS = 20;
const MOST_PAGES = 5;
const PAGE = 200;
const LOOKUP_DEADLINE_MS = 1_500;
/** Threads that are remembered. */
const MOST_THREADS = 2_000;

const page = z.object({
  messages: z.array(historyPost),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

interface ThreadPorts {
  readonly client: SlackClient;
  readonly names: UserNames;
  readonly clock: Clock;
  readonly log: Logger;
}

/** What was said in a thread before the bot was first meant there. */
export class Threads {
  readonly #ports: ThreadPorts;
  readonly #known = new RecentMap<string, true>(MOST_THREADS);

  constructor(ports: ThreadPorts) {
    this.#ports = ports;
  }

  /**
   * The last posts before this one of those who may be heard, and of bots, when it is the first time in its
   * thread that the bot is meant; else, or when Slack does not give them in time, none. Never rejects.
   */
  async before(placed: PlacedPost, context: ReadingContext): Promise<readonly ContextMessage[]> {
    const { post, chatId } = placed;
    const threadTs = post.thread_ts;
    if (threadTs === undefined || threadTs === post.ts) return [];
    const key = `${chatId}:${threadTs}`;
    if (this.#known.get(key) === true) return [];
    this.#known.set(key, true);
    const { client, names, clock, log } = this.#ports;
    using limit = deadline(clock, LOOKUP_DEADLINE_MS, 'Asking Slack for a thread');
    try {
      const earlier = await postsOf(client, { channel: chatId, ts: threadTs, until: post.ts }, limit.signal);
      const isOwn = (one: HistoryPost): boolean => one.user === context.me.user_id;
      if (earlier.some((one) => isOwn(one) && one.ts !== threadTs)) return [];
      const place = { chatId, chatType: placed.chatType, before: null };
      const needed = earlier.map((one) => namesNeeded({ ...place, post: one }, context));
      // A thread often hangs on a bot's alert. Of people who may not write, nothing is shown.
      const isBots = (one: HistoryPost): boolean => one.bot_id !== undefined;
      const heard = earlier
        .filter((one, at) => isBots(one) || isOwn(one) || needed[at]?.length !== 0)
        .slice(-MOST_POSTS);
      await names.learn([...new Set(needed.flat())].slice(-MOST_POSTS));
      return heard.flatMap((one) => contextOf({ ...place, post: one }, context) ?? []);
    } catch (error) {
      log.info('slack: earlier posts of a thread not fetched', { reason: errorMessage(error) });
      return [];
    }
  }
}

/** The posts of a thread that are older than `until`, oldest first. */
async function postsOf(
  client: SlackClient,
  { channel, ts, until }: { readonly channel: string; readonly ts: string; readonly until: string },
  signal: AbortSignal,
): Promise<readonly HistoryPost[]> {
  const posts: HistoryPost[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const query = { channel, ts, latest: until, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
    const { messages, response_metadata: more } = page.parse(
      await raceAbort(client.conversations.replies(query), signal),
    );
    posts.push(...messages.filter((one) => Number(one.ts) < Number(until)));
    cursor = more?.next_cursor;
    if (cursor === undefined || cursor === '') break;
  }
  return posts;
}
