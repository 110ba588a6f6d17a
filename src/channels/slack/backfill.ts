import * as z from 'zod';
import { sleep, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import { callFailure } from './errors.ts';
import { chatTypeOf, historyPost, timeOf, type HistoryPost, type PlacedPost } from './post.ts';
import type { SlackClient } from './web-client.ts';

/** Slack's clock and ours, and a line that was dead before it was known to be. */
const MARGIN_MS = 120_000;
/** What is older is not answered any more. */
const OLDEST_MS = 24 * 3_600_000;
const MOST_CONVERSATIONS = 200;
const MOST_PAGES = 5;
const PAGE = 100;
const TRIES = 4;

const more = z.object({ next_cursor: z.string().optional() }).optional();
const conversations = z.object({
  channels: z.array(z.object({ id: z.string(), is_im: z.boolean().default(false) })),
  response_metadata: more,
});
const history = z.object({ messages: z.array(historyPost), response_metadata: more });

export interface BackfillPorts {
  readonly client: SlackClient;
  readonly take: (placed: PlacedPost) => Promise<void>;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Fetches what was written while there was no line: direct chats first, then the channels the bot is in, with the
 * threads of their last hundred posts. What came in another way too has the same key. Never rejects.
 */
export async function backfill(since: number, ports: BackfillPorts, signal: AbortSignal): Promise<void> {
  const { client, take, clock, log } = ports;
  const from = Math.max(since - MARGIN_MS, clock.now() - OLDEST_MS);
  let found = 0;
  try {
    for (const { id, isDirect } of await conversationsOf(client, ports, signal)) {
      const chatType = isDirect ? 'direct' : chatTypeOf(id);
      for (const post of await missed(id, from, ports, signal)) {
        signal.throwIfAborted();
        await take({ post, chatId: id, chatType, before: null });
        found += 1;
      }
    }
    log.debug('looked for what was written meanwhile', { posts: found });
  } catch (error) {
    if (!signal.aborted) log.warn('what was written meanwhile could not be had', { reason: errorMessage(error) });
  }
}

async function conversationsOf(
  client: SlackClient,
  ports: BackfillPorts,
  signal: AbortSignal,
): Promise<readonly { readonly id: string; readonly isDirect: boolean }[]> {
  const found: { id: string; isDirect: boolean }[] = [];
  let cursor: string | undefined;
  do {
    const query = {
      types: 'im,mpim,private_channel,public_channel',
      exclude_archived: true,
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    };
    const page = conversations.parse(await patiently(() => client.users.conversations(query), ports, signal));
    found.push(...page.channels.map(({ id, is_im: isDirect }) => ({ id, isDirect })));
    cursor = page.response_metadata?.next_cursor;
  } while (cursor !== undefined && cursor !== '' && found.length < MOST_CONVERSATIONS);
  return found.toSorted((a, b) => Number(b.isDirect) - Number(a.isDirect)).slice(0, MOST_CONVERSATIONS);
}

/** The posts of one conversation since then, in its threads too, oldest first. */
async function missed(
  channel: string,
  from: number,
  ports: BackfillPorts,
  signal: AbortSignal,
): Promise<readonly HistoryPost[]> {
  const { client, log } = ports;
  const posts: HistoryPost[] = [];
  try {
    let cursor: string | undefined;
    for (let pages = 0; pages < MOST_PAGES; pages += 1) {
      const query = { channel, limit: PAGE, ...(cursor === undefined ? {} : { cursor }) };
      const page = history.parse(await patiently(() => client.conversations.history(query), ports, signal));
      posts.push(...page.messages);
      cursor = page.response_metadata?.next_cursor;
      const oldest = page.messages.at(-1);
      if (oldest === undefined || timeOf(oldest.ts) < from || cursor === undefined || cursor === '') break;
    }
    for (const { ts, latest_reply: latest } of posts.slice()) {
      if (latest === undefined || timeOf(latest) < from) continue;
      const query = { channel, ts, oldest: String(from / 1_000), limit: PAGE };
      const page = history.parse(await patiently(() => client.conversations.replies(query), ports, signal));
      posts.push(...page.messages.filter((reply) => reply.ts !== ts));
    }
  } catch (error) {
    signal.throwIfAborted();
    log.info('what was written meanwhile in a conversation could not be had', { channel, reason: errorMessage(error) });
  }
  return posts.filter(({ ts }) => timeOf(ts) >= from).toSorted((a, b) => Number(a.ts) - Number(b.ts));
}

async function patiently<T>(call: () => Promise<T>, { clock }: BackfillPorts, signal: AbortSignal): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      signal.throwIfAborted();
      return await call();
    } catch (error) {
      const { code, retryAfterMs } = callFailure(error);
      const isFinal = code !== undefined && retryAfterMs === undefined;
      if (signal.aborted || isFinal || tries === TRIES) throw error;
      await sleep(clock, retryAfterMs ?? tries * 1_000, signal);
    }
  }
}
