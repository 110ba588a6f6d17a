import * as z from 'zod';
import { SendError, type OutgoingPart, APPROVAL_BUTTONS, RESEND_MARK, timeOfId } from '../../core/api-channels.ts';
import { raceAbort, cut } from '../../core/api.ts';
import { slackMarkup, slackMessage } from './markup.ts';
import { callFailure, isMarkupRefused, toSendError } from './errors.ts';
import { historyPost, type HistoryPost } from './post.ts';
import type { SlackClient } from './web-client.ts';

const EVENT_TYPE = 'assistant_message';
const LONGEST_LABEL = 75;
const PAGE = 200;
const MOST_PAGES = 5;
/** Allowed difference between Slack's clock and ours when history is searched. */
const MARGIN_MS = 600_000;
/** Begins the platform id of an ephemeral message, which cannot be edited. */
const PRIVATE = 'e:';

/** Block Kit blocks. Mutable, because the SDK's types ask for that. */
type Blocks = { readonly type: string; readonly [key: string]: unknown }[];

/** Posts a part; returns Slack's id of the message (`ts`). Throws `uncertain` when Slack returns none. */
export async function postText(client: SlackClient, part: OutgoingPart, signal: AbortSignal): Promise<string> {
  const message = {
    ...placeOf(part),
    unfurl_links: false,
    unfurl_media: false,
    metadata: metadataOf(part),
  };
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- Slack's method, not a window's
  const answer = await withMarkup(part, (look) => raceAbort(client.chat.postMessage({ ...message, ...look }), signal));
  if (answer.ts === undefined) throw new SendError('uncertain', 'Slack did not say where the message is');
  return answer.ts;
}

/** Replaces the text and buttons of a message. Does nothing for an ephemeral one, which is removed when it is answered. */
export async function editPost(
  client: SlackClient,
  part: OutgoingPart & { readonly platformId: string },
  signal: AbortSignal,
): Promise<void> {
  if (part.platformId.startsWith(PRIVATE)) return;
  const { channel } = placeOf(part);
  await withMarkup(part, (look) =>
    raceAbort(client.chat.update({ channel, ts: part.platformId, metadata: metadataOf(part), ...look }), signal),
  );
}

/** Whether a message is an approval question, which only the people who may answer it should see. */
export function isApproval({ kind, buttons = [] }: OutgoingPart): boolean {
  return kind === 'approval' && buttons.flat().some(({ id }) => id.startsWith(APPROVAL_BUTTONS.approve));
}

/** Shows a question in the chat as an ephemeral message to each of `people`. Null when none of them is in the chat. */
export async function postPrivately(
  client: SlackClient,
  part: OutgoingPart,
  { people, signal }: { readonly people: readonly string[]; readonly signal: AbortSignal },
): Promise<string | null> {
  let shown: string | null = null;
  for (const user of people) {
    try {
      const answer = await withMarkup(part, (look) =>
        raceAbort(client.chat.postEphemeral({ ...placeOf(part), user, ...look }), signal),
      );
      shown ??= `${PRIVATE}${answer.message_ts ?? ''}`;
    } catch (error) {
      // This person is not in the channel.
      if (toSendError(error).failure !== 'permanent') throw error;
    }
  }
  return shown;
}

/**
 * Searches for a part that an earlier attempt may have sent, by its nonce or its file name. Returns the id (`ts`) of the
 * message, or null when it is certainly not there. Where the bot may not read the history, returns the part itself with a
 * mark in front of its text, to be sent again. Throws a `SendError`.
 */
export async function findEarlier(
  client: SlackClient,
  part: OutgoingPart,
  signal: AbortSignal,
): Promise<string | OutgoingPart | null> {
  const names = part.media.map(({ name, kind }) => name ?? kind);
  const isIt = ({ metadata, files = [] }: HistoryPost): boolean => {
    if (names.length > 0)
      return files.length === names.length && names.every((wanted) => files.some(({ name }) => name === wanted));
    return metadata?.event_type === EVENT_TYPE && metadata.event_payload['nonce'] === part.nonce;
  };
  try {
    return (await search(client, part, { isIt, signal }))?.ts ?? null;
  } catch (error) {
    const { code } = callFailure(error);
    if (code === 'missing_scope' || code === 'not_in_channel')
      return { ...part, text: slackMarkup.marked(RESEND_MARK, part.text) };
    const { failure, message, retryAfterMs } = toSendError(error);
    // This attempt has sent nothing, so it may be retried.
    if (failure === 'uncertain')
      throw new SendError('retryable', message, retryAfterMs === undefined ? {} : { retryAfterMs });
    throw error;
  }
}

const page = z.object({
  messages: z.array(historyPost),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

async function search(
  client: SlackClient,
  part: OutgoingPart,
  { isIt, signal }: { readonly isIt: (post: HistoryPost) => boolean; readonly signal: AbortSignal },
): Promise<HistoryPost | undefined> {
  const { chatId: channel, threadId } = part;
  const begun = timeOfId(part.messageId);
  let cursor: string | undefined;
  for (let pages = 0; pages < MOST_PAGES; pages += 1) {
    const query = {
      channel,
      include_all_metadata: true,
      limit: PAGE,
      ...(begun === undefined ? {} : { oldest: String((begun - MARGIN_MS) / 1_000) }),
      ...(cursor === undefined ? {} : { cursor }),
    };
    const answer = await raceAbort(
      threadId === undefined
        ? client.conversations.history(query)
        : client.conversations.replies({ ...query, ts: threadId }),
      signal,
    );
    const { messages, response_metadata: more } = page.parse(answer);
    // A file of that name may have been sent before.
    const found = messages.find((one) => isIt(one) && (begun === undefined || Number(one.ts) * 1_000 >= begun - 5_000));
    if (found !== undefined) return found;
    cursor = more?.next_cursor;
    if (cursor === undefined || cursor === '') return undefined;
  }
  throw new SendError('uncertain', 'there is too much in this conversation to find out whether the message is there');
}

/** Sends Markdown and buttons; if Slack refuses the Markdown, sends plain text and the buttons. */
async function withMarkup<T>(
  part: OutgoingPart,
  send: (look: { text: string; blocks: Blocks }) => Promise<T>,
): Promise<T> {
  const { text, blocks } = slackMessage(part.text);
  const buttons = buttonsOf(part);
  try {
    return await send({ text, blocks: [...blocks, ...buttons] });
  } catch (error) {
    if (!isMarkupRefused(error)) throw error;
    const plain = { type: 'section', text: { type: 'plain_text', text: cut(slackMarkup.plain(part.text), 3_000) } };
    return await send({ text, blocks: buttons.length === 0 ? [] : [plain, ...buttons] });
  }
}

function buttonsOf({ buttons = [] }: OutgoingPart): Blocks {
  return buttons.map((row, y) => ({
    type: 'actions',
    block_id: `row${y}`,
    elements: row.map(({ id, label }, x) => ({
      type: 'button',
      action_id: `button${y}_${x}`,
      text: { type: 'plain_text', text: cut(label, LONGEST_LABEL) },
      value: id,
    })),
  }));
}

/** Metadata by which `findEarlier` finds a message. An edit replaces it, so a preview that becomes the answer counts as it. */
function metadataOf({ nonce }: OutgoingPart): { event_type: string; event_payload: { nonce: string } } {
  return { event_type: EVENT_TYPE, event_payload: { nonce } };
}

function placeOf({ chatId, threadId }: OutgoingPart): { channel: string; thread_ts?: string } {
  return { channel: chatId, ...(threadId === undefined ? {} : { thread_ts: threadId }) };
}
