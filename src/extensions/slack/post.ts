import * as z from 'zod';
import { ON_MESSAGE } from '../../core/api-channels.ts';

/** The parts of Slack's messages and interactions that are read here (https://docs.slack.dev/reference/events). */

/** An attachment of an unknown shape is left out; the message it came with is not. */
function odd<Schema extends z.ZodType>(schema: Schema): z.ZodCatch<z.ZodOptional<Schema>> {
  return schema.optional().catch(undefined);
}

const file = z.object({
  id: z.string(),
  name: odd(z.string()),
  title: odd(z.string()),
  mimetype: odd(z.string()),
  subtype: odd(z.string()),
  /** Bytes. */
  size: odd(z.number()),
  /** `tombstone`, `hidden_by_limit` and `external` have nothing to be fetched. */
  mode: odd(z.string()),
});

/** Block Kit blocks; see `wordsOfBlocks`. */
const blocks = odd(z.array(z.unknown()));

/** A message that was shared, a bot's card, or what Slack shows of a link. */
const attachment = z.object({
  pretext: odd(z.string()),
  title: odd(z.string()),
  title_link: odd(z.string()),
  text: odd(z.string()),
  fields: odd(z.array(z.object({ title: odd(z.string()), value: odd(z.string()) }))),
  footer: odd(z.string()),
  fallback: odd(z.string()),
  blocks,
  image_url: odd(z.string()),
  author_name: odd(z.string()),
  is_share: odd(z.boolean()),
  is_msg_unfurl: odd(z.boolean()),
  /** Slack's preview of the link with this address. */
  from_url: odd(z.string()),
  /** Of a shared message. */
  message_blocks: odd(z.array(z.object({ message: odd(z.object({ blocks })) }))),
  files: odd(z.array(file)),
});

/** What was once said about a file. */
const comment = odd(z.object({ user: odd(z.string()), comment: z.string() }));

const post = z.object({
  subtype: z.string().optional(),
  user: z.string().optional(),
  bot_id: z.string().optional(),
  username: odd(z.string()),
  bot_profile: odd(z.object({ name: odd(z.string()) })),
  text: z.string().default(''),
  /** Its id within its channel, and when it was written: seconds since 1970. */
  ts: z.string(),
  thread_ts: z.string().optional(),
  parent_user_id: z.string().optional(),
  files: odd(z.array(file)),
  /** Of posts about one file. */
  file: odd(file),
  comment,
  attachments: odd(z.array(attachment)),
  blocks,
  edited: odd(z.object({ ts: z.string() })),
});

/** A post as history gives it: its place is known from the question. */
export const historyPost = post.extend({
  reply_count: odd(z.number()),
  latest_reply: odd(z.string()),
  metadata: odd(z.object({ event_type: z.string(), event_payload: z.record(z.string(), z.unknown()) })),
});

const place = z.object({ channel: z.string(), channel_type: z.string().optional() });

export const eventBody = z.object({
  event: z.discriminatedUnion('type', [
    z.object({ type: z.literal('app_mention'), ...post.shape, ...place.shape }),
    z.object({
      type: z.literal('message'),
      ...post.partial({ ts: true }).shape,
      ...place.shape,
      /** Of `message_changed`. */
      message: odd(post),
      previous_message: odd(z.object({ text: z.string().default('') })),
    }),
  ]),
});

/** Somebody set a reaction or took it back. */
export const reactionBody = z.object({
  event: z.object({
    type: z.enum(['reaction_added', 'reaction_removed']),
    user: z.string(),
    reaction: z.string(),
    item: z.object({ type: z.literal('message'), channel: z.string(), ts: z.string() }),
    event_ts: z.string(),
  }),
});

/** A pressed button. */
export const pressBody = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: z.string() }),
  channel: z.object({ id: z.string() }),
  container: odd(z.object({ message_ts: odd(z.string()), thread_ts: odd(z.string()), is_ephemeral: odd(z.boolean()) })),
  message: odd(z.object({ ts: z.string(), thread_ts: odd(z.string()) })),
  response_url: odd(z.string()),
  actions: z.array(z.object({ action_ts: z.string(), value: odd(z.string()) })).min(1),
});

/** A shortcut from the menu of a message. */
export const shortcutBody = z.object({
  type: z.literal('message_action'),
  callback_id: z.literal(ON_MESSAGE.command),
  action_ts: z.string(),
  user: z.object({ id: z.string() }),
  channel: z.object({ id: z.string() }),
  message: z.object({ ts: z.string(), thread_ts: odd(z.string()) }),
});

export const commandBody = z.object({
  command: z.string(),
  text: z.string().default(''),
  user_id: z.string(),
  user_name: odd(z.string()),
  channel_id: z.string(),
  trigger_id: z.string(),
});

export type SlackFile = z.output<typeof file>;
export type SlackAttachment = z.output<typeof attachment>;
export type HistoryPost = z.output<typeof historyPost>;
export type SlackReaction = z.output<typeof reactionBody>['event'];
export type SlackPress = z.output<typeof pressBody>;
export type SlackShortcut = z.output<typeof shortcutBody>;
export type SlackCommand = z.output<typeof commandBody>;

/** A post and where it stands. */
export interface PlacedPost {
  readonly post: z.output<typeof post>;
  readonly chatId: string;
  readonly chatType: 'direct' | 'group';
  /** What it said before it was edited; null: it is new. */
  readonly before: string | null;
}

/** What an event brings of a conversation; undefined: nothing. */
export function placedPost({ event }: z.output<typeof eventBody>): PlacedPost | undefined {
  const { channel: chatId } = event;
  const chatType = chatTypeOf(chatId, event.channel_type);
  if (event.type === 'message' && event.subtype === 'message_changed') {
    const { message, previous_message: before } = event;
    return message === undefined
      ? undefined
      : { post: asWritten(message), chatId, chatType, before: before?.text ?? '' };
  }
  const { ts } = event;
  return ts === undefined ? undefined : { post: asWritten({ ...event, ts }), chatId, chatType, before: null };
}

/** A post about a file with its comment and file where other posts have theirs. */
export function asWritten<Post extends PlacedPost['post']>(written: Post): Post {
  const { file: about, comment: said, files, user, text } = written;
  if (about === undefined && said === undefined) return written;
  return { ...written, user: user ?? said?.user, text: said?.comment ?? text, files: files ?? (about && [about]) };
}

export function chatTypeOf(chatId: string, kind?: string): 'direct' | 'group' {
  return kind === 'im' || (kind === undefined && chatId.startsWith('D')) ? 'direct' : 'group';
}

/** Milliseconds since 1970. */
export function timeOf(ts: string): number {
  return Math.round(Number(ts) * 1_000);
}

/** What `auth.test` says about the bot itself. */
export const botAccount = z.object({
  user_id: z.string(),
  bot_id: z.string().default(''),
  team_id: z.string().default(''),
  user: z.string().default(''),
});

export type BotAccount = z.output<typeof botAccount>;
