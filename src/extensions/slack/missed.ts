import * as z from 'zod';
import type { Missed, IdOrder } from '../../core/api-channels.ts';
import { raceAbort } from '../../core/api.ts';
import { asWritten, chatTypeOf, historyPost, timeOf, type PlacedPost } from './post.ts';
import type { SlackClient } from './web-client.ts';

/** How far before the cursor to look: Slack repeats events for five minutes, and a lost connection is noticed late. */
const MARGIN_MS = 360_000;
const PAGE = 100;
/** Most pages that are read of one conversation or thread. */
const MOST_PAGES = 20;
const MOST_CONVERSATIONS = 1_000;

const more = z.object({ next_cursor: z.string().optional() }).optional();
const listed = z.object({
  channels: z.array(z.object({ id: z.string(), name: z.string().optional(), is_im: z.boolean().default(false) })),
  response_metadata: more,
});
const history = z.object({ messages: z.array(z.unknown()), response_metadata: more });
const head = z.object({ ts: z.string().regex(/^\d{1,12}\.\d{6}$/u) });

export interface Conversation {
  readonly id: string;
  readonly name: string | undefined;
  readonly isDirect: boolean;
}

/** A post with its conversation, or a post that does not have the expected form, with the reason. */
export type SlackData = PlacedPost | { readonly unreadable: unknown; readonly error: z.ZodError };

/** Order of Slack's post ids (`ts`): each is a time in seconds with six decimals. */
export const idsByTime: IdOrder = {
  compare: (a, b) => Number(a) - Number(b),
  before: (ts) => fromMicros(Math.round(Number(ts) * 1_000_000) - 1),
  timeOf,
  at: (ms) => fromMicros(Math.max(0, Math.round(ms * 1_000))),
};

function fromMicros(micros: number): string {
  const digits = String(micros).padStart(7, '0');
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`;
}

/** Lists at most 1000 conversations of the bot, direct chats first. `isCut`: there are more. Rejects when a call fails. */
export async function conversationsOf(
  client: SlackClient,
  signal: AbortSignal,
): Promise<{ readonly conversations: readonly Conversation[]; readonly isCut: boolean }> {
  const found: Conversation[] = [];
  let cursor: string | undefined;
  do {
    const query = {
      types: 'im,mpim,private_channel,public_channel',
      exclude_archived: true,
      limit: PAGE,
      ...(cursor === undefined ? {} : { cursor }),
    };
    const page = listed.parse(await raceAbort(client.users.conversations(query), signal));
    found.push(...page.channels.map(({ id, name, is_im: isDirect }) => ({ id, name, isDirect })));
    cursor = nextOf(page);
  } while (cursor !== undefined && found.length < MOST_CONVERSATIONS);
  const conversations = found.toSorted((a, b) => Number(b.isDirect) - Number(a.isDirect)).slice(0, MOST_CONVERSATIONS);
  return { conversations, isCut: cursor !== undefined || found.length > MOST_CONVERSATIONS };
}

/**
 * Fetches the posts of a conversation, and of the threads on the pages read, that are newer than the post `after`; begins six
 * minutes earlier, because a post that was read before has the same key. Rejects when a call fails.
 */
export async function missedIn(
  client: SlackClient,
  { place, after }: { readonly place: string; readonly after: string },
  signal: AbortSignal,
): Promise<Missed<SlackData>> {
  const from = Math.max(0, timeOf(after) - MARGIN_MS);
  const ask = async (query: { readonly ts?: string; readonly oldest?: string; readonly cursor?: string }) => {
    const { ts } = query;
    const asked = { ...query, channel: place, limit: PAGE };
    const answer =
      ts === undefined ? client.conversations.history(asked) : client.conversations.replies({ ...asked, ts });
    return history.parse(await raceAbort(answer, signal));
  };
  const found = new Map<string, SlackData>();
  const threads = new Set<string>();
  const note = (messages: readonly unknown[]): void => {
    for (const message of messages) {
      const { data: known } = head.safeParse(message);
      if (known === undefined) continue;
      const post = historyPost.safeParse(message);
      if (post.data?.latest_reply !== undefined && timeOf(post.data.latest_reply) >= from) threads.add(known.ts);
      if (timeOf(known.ts) >= from) found.set(known.ts, placedIn(place, message, post));
    }
  };
  let cursor: string | undefined;
  let isCut = false;
  for (let pages = 1; ; pages += 1) {
    const page = await ask(cursor === undefined ? {} : { cursor });
    note(page.messages);
    cursor = nextOf(page);
    const { data: oldest } = head.safeParse(page.messages.at(-1));
    if (cursor === undefined || (oldest !== undefined && timeOf(oldest.ts) < from)) break;
    isCut = pages === MOST_PAGES;
    if (isCut) break;
  }
  for (const ts of threads) {
    cursor = undefined;
    for (let pages = 1; pages <= MOST_PAGES; pages += 1) {
      const page = await ask({ ts, oldest: String(from / 1_000), ...(cursor === undefined ? {} : { cursor }) });
      note(page.messages);
      cursor = nextOf(page);
      if (cursor === undefined) break;
    }
    isCut ||= cursor !== undefined;
  }
  const messages = [...found].map(([id, data]) => ({ id, data })).toSorted((a, b) => idsByTime.compare(a.id, b.id));
  return { messages, hasMore: false, isCut };
}

function placedIn(place: string, message: unknown, post: ReturnType<typeof historyPost.safeParse>): SlackData {
  if (!post.success) return { unreadable: message, error: post.error };
  return { post: asWritten(post.data), chatId: place, chatType: chatTypeOf(place), before: null };
}

function nextOf({
  response_metadata: next,
}: {
  readonly response_metadata?: z.output<typeof more>;
}): string | undefined {
  return next?.next_cursor === '' ? undefined : next?.next_cursor;
}
