import * as z from 'zod';
import type { ChannelContext } from '../../core/api-channels.ts';
import { type InboundDraft, deadline, raceAbort, errorMessage, RecentMap } from '../../core/api.ts';
import { contextOf, namesNeeded, picturesOf, type ReadingContext } from './inbound.ts';
import type { UserNames } from './user-names.ts';
import { asWritten, historyPost, type HistoryPost, type PlacedPost } from './post.ts';
import type { SlackClient } from './web-client.ts';

const MOST_POSTS = 20;
/** Pictures of earlier posts that the model is shown, the newest. */
const MOST_PICTURES = 4;
const NOTHING = { context: [], media: [] };
const MOST_PAGES = 5;
const PAGE = 200;
const LOOKUP_DEADLINE_MS = 1_500;
/** Threads that are remembered. */
const MOST_THREADS = 2_000;

const page = z.object({
  messages: z.array(historyPost),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

/** What was said in a thread before the bot was first meant there. */
export class Threads {
  readonly #client: SlackClient;
  readonly #names: UserNames;
  readonly #context: Pick<ChannelContext, 'clock' | 'log'>;
  readonly #known = new RecentMap<string, true>(MOST_THREADS);

  constructor(client: SlackClient, names: UserNames, context: Pick<ChannelContext, 'clock' | 'log'>) {
    this.#client = client;
    this.#names = names;
    this.#context = context;
  }

  /**
   * The last posts before this one of those who may be heard, and of bots, when it is the first time in its
   * thread that the bot is meant, with their newest pictures; else, or when Slack does not give them in time, none. Never rejects.
   */
  async before(placed: PlacedPost, context: ReadingContext): Promise<Pick<InboundDraft, 'context' | 'media'>> {
    const { post, chatId } = placed;
    const threadTs = post.thread_ts;
    if (threadTs === undefined || threadTs === post.ts) return NOTHING;
    const key = `${chatId}:${threadTs}`;
    if (this.#known.get(key) === true) return NOTHING;
    this.#known.set(key, true);
    const { clock, log } = this.#context;
    using limit = deadline(clock, LOOKUP_DEADLINE_MS, 'Asking Slack for a thread');
    try {
      const found = await postsOf(this.#client, { channel: chatId, ts: threadTs, until: post.ts }, limit.signal);
      const earlier = found.map(asWritten);
      const isOwn = (one: HistoryPost): boolean => one.user === context.me.user_id;
      if (earlier.some((one) => isOwn(one) && one.ts !== threadTs)) return NOTHING;
      const place = { chatId, chatType: placed.chatType, before: null };
      const needed = earlier.map((one) => namesNeeded({ ...place, post: one }, context));
      // A thread often hangs on a bot's alert. Of people who may not write, nothing is shown.
      const isBots = (one: HistoryPost): boolean => one.bot_id !== undefined;
      const heard = earlier
        .filter((one, at) => isBots(one) || isOwn(one) || needed[at]?.length !== 0)
        .slice(-MOST_POSTS);
      await this.#names.learn([...new Set(needed.flat())].slice(-MOST_POSTS));
      const posts = heard.map((one) => ({ ...place, post: one }));
      return {
        context: posts.flatMap((one) => contextOf(one, context) ?? []),
        media: posts.flatMap((one) => picturesOf(one, context)).slice(-MOST_PICTURES),
      };
    } catch (error) {
      log.info('slack: earlier posts of a thread not fetched', { reason: errorMessage(error) });
      return NOTHING;
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
